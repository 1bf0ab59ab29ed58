"""Runs child programs on the simulated NPU; skips where the wheel or the compiler is missing."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from streamsched.npu_sim import build, environment

HERE = Path(__file__).parent
HELPERS = HERE.parent / "helpers"
RunChild = Callable[..., list[Any]]


@pytest.fixture(scope="session")
def everything() -> bool:
    """Whether the full matrix is asked for, as `make verify-all` does."""
    return os.environ.get("STREAMSCHED_VERIFY") == "all"


@pytest.fixture(scope="session")
def run_child() -> RunChild:
    """Runs one of the child programs beside this file and returns what it printed after each `RESULT`."""
    problem = build.wheel_problem()
    if problem is not None:
        pytest.skip(problem.splitlines()[0])
    if shutil.which(os.environ.get("CXX", "g++")) is None:
        pytest.skip("no C++ compiler")

    def run(script: str, *arguments: str, **variables: str) -> list[Any]:
        command = [sys.executable, str(HERE / script), *arguments]
        path = os.pathsep.join(filter(None, (str(HELPERS), os.environ.get("PYTHONPATH"))))
        done = environment.run(command, timeout=1800, env={"PYTHONPATH": path, **variables})
        lines = [line.removeprefix("RESULT") for line in done.stdout.splitlines() if line.startswith("RESULT")]
        assert done.returncode == 0 and lines, f"exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        return [json.loads(line) for line in lines]

    return run
