"""What a graph does not own is written by functions: Dynamo refuses events behind methods that write it."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamsched.codegen.emitter import generate
from streamsched.dsl.pipeline import Loaded, load

pytest.importorskip("torch")

MODEL = """import torch
from torch import nn


class Count(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(8))

    def forward(self, x):
        self.calls.add_(1)
        return x + self.calls


class Step(nn.Module):
    def __init__(self):
        super().__init__()
        self.count = Count()
        self.register_buffer("seen", torch.zeros(8, 8))
        self.a = nn.Linear(8, 8)

    def forward(self, x):
        a = self.a(x)
        b = x + 1
        c = a + b
        {update}
        return c


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = nn.Sequential(*(Step() for _ in range({steps})))

    def forward(self, x):
        return self.steps(x)
"""

SCHEDULE = """schedule step
model "model.py:Model"
scope "steps.*"
input x: f32[8, 8]
sync auto
stream side
value "a" on side
"""

OWN = "self.seen[0].mul_(2).add_(c[0]); self.seen[1] = c[1]; c.relu_()"
INNER = "c = self.count(c)"


def scheduled(folder: Path, update: str, target: str, steps: int = 2) -> Loaded:
    (folder / "model.py").write_text(MODEL.format(update=update, steps=steps))
    (folder / "step.sched").write_text(SCHEDULE)
    return load(str(folder / "step.sched"), target=target)


def code(loaded: Loaded) -> str:
    assert not loaded.failed and loaded.program is not None, loaded.diagnostics
    return generate(loaded.program, loaded.program.target)


def test_the_module_s_own_writes_are_functions_in_a_graph(tmp_path: Path) -> None:
    text = code(scheduled(tmp_path, OWN, "npugraph_ex"))
    assert "torch.ops.aten.mul_(" in text and "torch.ops.aten.add_(" in text and "torch.ops.aten.copy_(" in text
    assert "torch.ops.aten.relu_(c)" in text or "torch.relu_(c)" in text or "F.relu(c, inplace=True)" in text


@pytest.mark.parametrize(("update", "target"), [(OWN, "npu"), ("c.relu_().add_(1)", "npugraph_ex")])
def test_elsewhere_they_are_methods(tmp_path: Path, update: str, target: str) -> None:
    assert "torch.ops" not in code(scheduled(tmp_path, update, target))


def test_a_write_inside_another_module_is_refused_where_an_event_of_the_next_follows(tmp_path: Path) -> None:
    [found] = [each for each in scheduled(tmp_path, INNER, "npugraph_ex").diagnostics if each.code == "TGT102"]
    assert "of the next module in scope is recorded on `default` after `add_` has written the buffer" in found.message
    assert found.help is not None and found.help.startswith("write `") and "by a function" in found.help
    assert not scheduled(tmp_path, INNER, "npugraph_ex", steps=1).failed
    assert not scheduled(tmp_path, INNER, "npu").failed
