"""Is lint instant? Cold `streamsched lint` against `python -c "import torch"`, its growth, and its memory.

    python benchmarks/bench_lint.py

Every run is a new process. Times are medians of runs that alternate, so that a noisy machine slows all alike. Exits
with 1 if a target is missed.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from synthetic import write_project

SMALL, LARGE = 10_000, 100_000
RUNS = 5
MIB = 1 << 20


@dataclass(frozen=True)
class Run:
    """One process: wall seconds and peak resident memory in bytes."""

    seconds: float
    peak: int


@dataclass(frozen=True)
class Row:
    """A line of the table. `met` tells whether the target is."""

    what: str
    target: str
    measured: str
    met: bool


def run(command: list[str]) -> Run:
    """Run a command to its end, without output."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    complaint = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"{' '.join(command)}:\n{complaint.decode()}")
    return Run(seconds, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024))


def lint(schedule: Path) -> list[str]:
    """The command that lints a schedule, started as its console script starts."""
    code = "import sys; from streamsched.cli.main import main; sys.exit(main())"
    return [sys.executable, "-c", code, "lint", str(schedule)]


def measure(folder: Path) -> list[Row]:
    """All measurements, in a scratch folder."""
    small, large = write_project(folder, SMALL), write_project(folder, LARGE)
    commands = {"torch": [sys.executable, "-c", "import torch"], "small": lint(small), "large": lint(large)}
    for command in commands.values():
        run(command)  # bytecode and disk cache
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for _ in range(RUNS):
        for name, command in commands.items():
            runs[name].append(run(command))
    seconds = {name: statistics.median(r.seconds for r in those) for name, those in runs.items()}
    peak = max(r.peak for r in runs["large"])
    ratio, growth = seconds["small"] / seconds["torch"], seconds["large"] / seconds["small"]
    return [
        Row("python -c 'import torch'", "", f"{seconds['torch']:.2f} s", True),
        Row(f"cold lint, {SMALL:,} ops", "", f"{seconds['small']:.2f} s", True),
        Row("  against import torch", "<= 0.50", f"{ratio:.2f}", ratio <= 0.5),
        Row(f"cold lint, {LARGE:,} ops", "", f"{seconds['large']:.2f} s", True),
        Row(f"  growth from {SMALL:,}", "<= 12", f"{growth:.1f}", growth <= 12),
        Row("  peak memory", "<= 1024 MiB", f"{peak / MIB:.0f} MiB", peak <= 1024 * MIB),
    ]


def main() -> int:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(Path(folder))
    print(
        f"median of {RUNS} alternating cold runs, from saved traces; per 10,000 ops one edge between 3,000-op groups\n"
    )
    print(f"{'':34}{'target':>14}{'measured':>14}")
    for row in rows:
        print(f"{row.what:34}{row.target:>14}{row.measured:>14}{'' if row.met else '   MISSED'}")
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
