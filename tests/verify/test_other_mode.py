"""A trace of compiled runs, where the target or the engine runs the model eagerly."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamsched.cli.main import main
from streamsched.dsl.pipeline import Loaded, load
from streamsched.verify.unsupported import other_mode

pytest.importorskip("torch")

MODEL = """import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        a = x + 1
        b = x * 2 if torch.compiler.is_compiling() else x / 2
        return a, b
"""

SCHEDULE = 'schedule mode\nmodel "model.py:Model"\ninput x: f32[4]\nsync auto\nstream side\nvalue "b" on side\n'


@pytest.fixture
def schedule(tmp_path: Path) -> str:
    (tmp_path / "model.py").write_text(MODEL)
    path = tmp_path / "mode.sched"
    path.write_text(SCHEDULE)
    return str(path)


def ops(loaded: Loaded) -> list[str]:
    assert loaded.trace is not None
    return [op.target for op in loaded.trace.ops]


def test_what_is_traced_anew_runs_as_the_target_asked_for(schedule: str) -> None:
    assert "aten.mul.Tensor" in ops(load(schedule))
    assert "aten.div.Tensor" in ops(load(schedule, target="npu"))


def test_a_saved_trace_of_the_other_mode_is_a_warning(schedule: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", schedule]) == 0  # the warning is no error
    capfd.readouterr()
    assert main(["gen", schedule, "--target", "npu"]) == 0
    text = "the saved trace is that of compiled runs, and forward() runs other ops where the target runs it eagerly"
    assert text in capfd.readouterr().err
    assert main(["gen", schedule]) == 0
    assert capfd.readouterr().err == ""


def test_a_call_that_an_eager_engine_makes_otherwise_cannot_be_compared(schedule: str) -> None:
    program = load(schedule).program
    assert program is not None
    refusal = ValueError("mode: x is None, not a tensor")
    found = other_mode((program,), "npu", refusal)
    assert found is not None
    assert "the trace is that of compiled runs, and the engine npu runs the model eagerly" in str(found)
    assert "x is None, not a tensor" in str(found) and "write `trace eager`" in str(found)
    assert other_mode((program,), "npugraph_ex", refusal) is None
    assert other_mode((program,), "npu", RuntimeError("mode: anything else")) is None
    eager = load(schedule, target="npu").program
    assert eager is not None and other_mode((eager,), "npu", refusal) is None
