"""Running the command in this process, in a scratch folder that holds a small project."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from streamsched.cli.main import main

EXAMPLE = Path(__file__).parents[2] / "examples" / "multi_stream"


@dataclass(frozen=True)
class Result:
    """How a run ended. No run may show a traceback, and none may leave a half-written file."""

    code: int
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: `good.sched` with its model and saved trace, and an empty folder `sub`."""
    shutil.copy(EXAMPLE / "model.py", tmp_path)
    shutil.copy(EXAMPLE / "multi_stream.sched", tmp_path / "good.sched")
    shutil.copy(EXAMPLE / "multi_stream.trace.json.gz", tmp_path / "good.trace.json.gz")
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command with arguments and, if given, standard input."""
    monkeypatch.delenv("STREAMSCHED_DEBUG", raising=False)

    def run(*arguments: str, stdin: bytes = b"") -> Result:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(arguments)
        out, err = capfd.readouterr()
        assert "Traceback" not in out + err
        assert "internal error" not in err
        assert [name for name in os.listdir() if name.startswith(".streamsched-")] == []
        return Result(code, out, err)

    return run
