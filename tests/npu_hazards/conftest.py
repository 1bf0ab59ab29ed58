"""Runs the child programs of this folder on the simulated NPU; skips where the wheel or the compiler is missing."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from streamsched.npu_sim import build, environment

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def results_of() -> Callable[[str], Any]:
    """Runs one child program; what it reports."""
    problem = build.wheel_problem()
    if problem is not None:
        pytest.skip(problem.splitlines()[0])

    def run(script: str) -> Any:
        done = environment.run([sys.executable, str(HERE / script)], timeout=300)
        reports = [line for line in done.stdout.splitlines() if line.startswith("RESULT")]
        assert done.returncode == 0 and len(reports) == 1, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        return json.loads(reports[0].removeprefix("RESULT"))

    return run
