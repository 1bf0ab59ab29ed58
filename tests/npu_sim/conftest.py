"""Runs child programs on the simulated NPU; skips where the wheel or the compiler is missing."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from streamsched.npu_sim import build, environment

HERE = Path(__file__).parent
RunChild = Callable[..., list[Any]]


@pytest.fixture(scope="session")
def simulated() -> None:
    """Skips the test where nothing can run on the simulated NPU; builds it otherwise."""
    problem = build.wheel_problem()
    if problem is not None:
        pytest.skip(problem.splitlines()[0])
    build.build()


@pytest.fixture(scope="session")
def run_child(simulated: None) -> RunChild:
    """Runs one of the child programs beside this file and returns what it printed after each `RESULT`."""

    def run(script: str, *arguments: str, timeout: float = 600) -> list[Any]:
        done = environment.run([sys.executable, str(HERE / script), *arguments], timeout=timeout)
        results = [
            json.loads(line.removeprefix("RESULT")) for line in done.stdout.splitlines() if line.startswith("RESULT")
        ]
        assert done.returncode == 0 and results, f"exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        return results

    return run


@pytest.fixture(scope="session")
def scenarios(run_child: RunChild) -> dict[str, Any]:
    """What every scenario of scenarios_child.py saw, by its name."""
    names = [
        line.removeprefix("def ").removesuffix("():\n")
        for line in (HERE / "scenarios_child.py").open(encoding="utf-8")
        if line.startswith("def ") and line.endswith("():\n")
    ]
    (results,) = run_child("scenarios_child.py", *names)
    assert isinstance(results, dict)
    return results


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without g++ and without a library built before."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
