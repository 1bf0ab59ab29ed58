"""npugraph_ex compiles a forward(), which may ask whether it is being compiled; eager targets do not."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from streamsched.dsl.audit import audit
from streamsched.dsl.program.steps import StepKind

SOURCE = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.npu.Stream()

    def forward(self, x):
        with torch.npu.stream(self.side):
            y = x * 2 if torch.compiler.is_compiling() else x + 2
        return y
"""


@pytest.mark.parametrize(("target", "op"), [("npugraph_ex", "mul"), ("npu", "add")])
def test_the_answer_is_that_of_the_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, op: str
) -> None:
    (tmp_path / "model.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    found = audit("model.py:Model", ("x: f32[4, 4]",), target=target)
    assert found.program is not None, found.diagnostics
    launched = {step.name for step in found.program.steps if step.kind is StepKind.LAUNCH}
    assert launched - {"the caller"} == {op}
