"""What the simulated NPU cannot run is named, and is no difference."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from streamsched.cli.main import main
from streamsched.npu_sim import build

MODEL = """import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        a = x + 1
        b = {call}
        return a, b
"""


@pytest.fixture(autouse=True)
def _simulated() -> None:
    problem = build.wheel_problem()
    if problem is not None:
        pytest.skip(problem.splitlines()[0])
    if shutil.which("g++") is None:
        pytest.skip("no C++ compiler")


def verify(folder: Path, call: str, engine: str, capfd: pytest.CaptureFixture[str]) -> tuple[int, str]:
    (folder / "model.py").write_text(MODEL.format(call=call))
    (folder / "pyproject.toml").write_text('[tool.streamsched]\nignore = ["PRF"]\n')  # the models are two ops long
    schedule = folder / "m.sched"
    schedule.write_text('schedule m\nmodel "model.py:Model"\ninput x: f32[4, 4]\nsync auto\nstream s\nvalue "b" on s\n')
    code = main(["verify", str(schedule), "--engine", engine, "--orders", "0", "--calls", "1"])
    out, err = capfd.readouterr()
    return code, out + err


@pytest.mark.parametrize("engine", ["npugraph_ex", "npu"])
def test_an_operator_without_a_kernel(tmp_path: Path, capfd: pytest.CaptureFixture[str], engine: str) -> None:
    code, text = verify(tmp_path, "torch.linalg.svd(a)[1]", engine, capfd)
    said = "error: cannot run: operator aclnnSvd has no kernel in the simulated NPU"
    assert (code, text) == (2, f"{said}\n--verbose shows the traceback\n")


def test_an_operator_that_torch_npu_runs_on_the_cpu(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, text = verify(tmp_path, "torch.special.i1(a)", "npugraph_ex", capfd)
    assert code == 2
    assert "torch_npu has no kernel for aten::special_i1.out and runs it on the CPU" in text
    code, text = verify(tmp_path, "torch.special.i1(a)", "npu", capfd)
    assert code == 0
    assert "npu: note: torch_npu has no kernel for aten::special_i1.out and runs it on the CPU" in text


def test_complex_outputs_are_computed_and_compared(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, text = verify(tmp_path, "torch.fft.fft(a)", "npugraph_ex", capfd)
    assert code == 0, text
    assert "note:" not in text  # torch_npu multiplies by a matrix of its own
