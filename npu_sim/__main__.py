"""`python -m streamsched.npu_sim [--order ORDER] [--log FILE] PROGRAM.py [ARGUMENT...]`: runs a program as it is."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from streamsched.npu_sim.build import BuildError
from streamsched.npu_sim.environment import environment
from streamsched.npu_sim.orders import Order, parse


def _order(text: str) -> Order:
    try:
        return parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def main() -> None:
    """Replaces this process by the program, on the simulated NPU."""
    parser = argparse.ArgumentParser(
        prog="python -m streamsched.npu_sim", description="Run a program on the simulated NPU."
    )
    parser.add_argument(
        "--order",
        type=_order,
        help="stream order: serial (default), side_first, side_last, random:SEED ...; where `verify` says side streams "
        "first, side streams last, random order 7: side_first, side_last, random:7",
    )
    parser.add_argument("--log", type=Path, help="write the launch log here, as JSON lines")
    parser.add_argument("program", help="a Python file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the program's own arguments")
    given = parser.parse_args()
    try:
        variables = environment()
    except BuildError as error:
        raise SystemExit(f"error: {error}") from error
    if given.order is not None:
        variables["NPUSIM_ORDER"] = str(given.order)
    if given.log is not None:
        variables["NPUSIM_LOG"] = str(given.log.resolve())
    os.execve(sys.executable, [sys.executable, given.program, *given.arguments], variables)


if __name__ == "__main__":
    main()
