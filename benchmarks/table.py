"""Processes that are measured, and the table of what was measured against its target."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

MIB = 1 << 20
TORCH = [sys.executable, "-c", "import torch"]


@dataclass(frozen=True)
class Run:
    """One process: wall seconds, seconds of processor time, and peak resident memory in bytes."""

    seconds: float
    processor: float
    peak: int


@dataclass(frozen=True)
class Row:
    """A line of the table. `met` tells whether the target is."""

    what: str
    target: str
    measured: str
    met: bool = True


def run(command: list[str]) -> Run:
    """Run a command to its end, without output; end the benchmark if it fails."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=_environment())
    assert process.stderr is not None
    complaint = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"{' '.join(command)}:\n{complaint.decode()}")
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024))


def _environment() -> dict[str, str]:
    """This process's, with compiled modules kept as they are for users; else only what pip compiled would be fast."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def alternating(commands: Mapping[str, list[str]], times: int) -> dict[str, list[Run]]:
    """Each command's runs, taken in turns, so that a noisy machine slows all alike."""
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for _ in range(times):
        for name, command in commands.items():
            runs[name].append(run(command))
    return runs


def median_seconds(runs: Iterable[Run]) -> float:
    """The median of the runs' wall times."""
    return statistics.median(each.seconds for each in runs)


def streamsched(*arguments: str) -> list[str]:
    """The command line `streamsched ...`, started as its console script starts."""
    return [sys.executable, "-c", "import sys; from streamsched.cli.main import main; sys.exit(main())", *arguments]


def ratio(what: str, measured: float, most: float) -> Row:
    """A line for a ratio that may be at most `most`."""
    return Row(what, f"<= {most:.2f}", f"{measured:.2f}", measured <= most)


def report(title: str, rows: Iterable[Row]) -> int:
    """Print the table. Returns 1 if a target is missed, else 0."""
    rows = list(rows)
    print(f"{title}\n\n{'':44}{'target':>14}{'measured':>14}")
    for row in rows:
        print(f"{row.what:44}{row.target:>14}{row.measured:>14}{'' if row.met else '   MISSED'}")
    return 0 if all(row.met for row in rows) else 1
