"""Is lint instant? Cold `streamsched lint` against `python -c "import torch"`, its growth, its memory, and its cache.

    python benchmarks/bench_lint.py

Every run is a new process. Times are medians of runs that alternate, so that a noisy machine slows all alike. Exits
with 1 if a target is missed.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from synthetic import write_project
from table import MIB, TORCH, Row, alternating, median_seconds, ratio, report, run, streamsched

SMALL, LARGE = 10_000, 100_000
MANY, EACH = 50, 200
RUNS = 5


def measure(folder: Path) -> list[Row]:
    """All measurements, in a scratch folder."""
    small, large, many = write_project(folder, SMALL), write_project(folder, LARGE), write_many(folder / "many")
    paths = {"small": small, "large": large, "many": many}
    commands = {"torch": TORCH}
    commands |= {name: streamsched("lint", "--no-cache", str(path)) for name, path in paths.items()}
    commands |= {f"{name} again": streamsched("lint", str(path)) for name, path in paths.items()}
    os.environ["STREAMSCHED_CACHE_DIR"] = str(folder / "cache")
    for command in commands.values():
        run(command)  # bytecode, disk cache, and what lint keeps
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
        ratio("  a second run against the first, 10,000 ops", seconds["small again"] / seconds["small"], 0.3),
        Row(f"cold lint, {MANY} schedules of {EACH} ops", "", f"{seconds['many']:.2f} s"),
        ratio("  against import torch", seconds["many"] / seconds["torch"], 1.5),
        ratio("  a second run against the first", seconds["many again"] / seconds["many"], 0.3),
    ]


def write_many(folder: Path) -> Path:
    """A folder of small schedules, each with its saved trace."""
    first = folder / "0"
    first.mkdir(parents=True)
    write_project(first, EACH)
    for number in range(1, MANY):
        shutil.copytree(first, folder / str(number))
    return folder


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
