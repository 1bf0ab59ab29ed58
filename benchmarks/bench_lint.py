"""Is lint instant? Cold `streamsched lint` against `python -c "import torch"`, its growth, and its memory.

    python benchmarks/bench_lint.py

Every run is a new process. Times are medians of runs that alternate, so that a noisy machine slows all alike. Exits
with 1 if a target is missed.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from synthetic import write_project
from table import MIB, TORCH, Row, alternating, median_seconds, ratio, report, run, streamsched

SMALL, LARGE = 10_000, 100_000
RUNS = 5


def measure(folder: Path) -> list[Row]:
    """All measurements, in a scratch folder."""
    small, large = write_project(folder, SMALL), write_project(folder, LARGE)
    commands = {"torch": TORCH, "small": streamsched("lint", str(small)), "large": streamsched("lint", str(large))}
    for command in commands.values():
        run(command)  # bytecode and disk cache
    runs = alternating(commands, RUNS)
    seconds = {name: median_seconds(those) for name, those in runs.items()}
    peak = max(r.peak for r in runs["large"])
    growth = seconds["large"] / seconds["small"]
    return [
        Row("python -c 'import torch'", "", f"{seconds['torch']:.2f} s"),
        Row(f"cold lint, {SMALL:,} ops", "", f"{seconds['small']:.2f} s"),
        ratio("  against import torch", seconds["small"] / seconds["torch"], 0.5),
        Row(f"cold lint, {LARGE:,} ops", "", f"{seconds['large']:.2f} s"),
        Row(f"  growth from {SMALL:,}", "<= 12", f"{growth:.1f}", growth <= 12),
        Row("  peak memory", "<= 1024 MiB", f"{peak / MIB:.0f} MiB", peak <= 1024 * MIB),
    ]


def main() -> int:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(Path(folder))
    title = (
        f"median of {RUNS} alternating cold runs, from saved traces; per 10,000 ops one edge between 3,000-op groups"
    )
    return report(title, rows)


if __name__ == "__main__":
    sys.exit(main())
