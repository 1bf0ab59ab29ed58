"""Plain attributes that forward() changes and reads: generated code is right in each of several calls, or says no."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from forwards import forward_lines

from streamsched.codegen.emitter import generate
from streamsched.dsl.pipeline import Loaded, load
from streamsched.dsl.trace.store import save

torch = pytest.importorskip("torch")

MODEL = """
import torch
from torch import nn

class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.calls, self.last = nn.Linear(4, 4), 0, None

    def forward(self, x):
        self.calls += 1
        y = self.linear(x) if self.last is None else x
        self.last = "linear"
        return y * self.calls

class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.other = Counting(), nn.Linear(4, 4)

    def forward(self, x):
        return self.inner(x) + self.other(x)
"""


def loaded(folder: Path, model: str, statements: str) -> Loaded:
    (folder / "model.py").write_text(MODEL)
    head = f'schedule test\ntarget cpu\nmodel "model.py:{model}"\ninput x: f32[2, 4]\nsync auto\n'
    (folder / "test.sched").write_text(head + statements)
    return load(str(folder / "test.sched"), target="cpu")


def applied(found: Loaded, model: str) -> tuple[str, Any, Any, Any]:
    """The generated text, its module's scope, the original and a copy of it."""
    assert found.program is not None, found.diagnostics
    text = generate(found.program, "cpu")
    made: dict[str, Any] = {}
    scope: dict[str, Any] = {}
    exec(MODEL, scope)
    exec(text, made)
    original = scope[model]().eval()
    return text, made, original, copy.deepcopy(original)


@pytest.mark.parametrize(
    ("model", "statements", "assigned"),
    [
        ("Counting", "", True),
        ("Outer", "", False),  # the module is called
        ("Outer", 'stream side\nmodule "inner.linear" on side\n', True),
    ],
)
def test_several_calls_give_what_the_original_gives(
    tmp_path: Path, model: str, statements: str, assigned: bool
) -> None:
    text, made, original, copied = applied(loaded(tmp_path, model, statements), model)
    lines = [line for line in forward_lines(text) if ".calls = 1" in line or ".last = " in line]
    assert (len(lines) == 2, ".calls, 0)" in text) == (assigned, assigned), text
    made["apply"](copied)
    with torch.no_grad():
        for _ in range(3):
            x = torch.rand(2, 4)
            assert torch.equal(original(x), copied(x))
    counting = (original, copied) if model == "Counting" else (original.inner, copied.inner)
    assert [(each.calls, each.last) for each in counting] == [(3, "linear")] * 2


def test_strict_raises_at_the_second_call(tmp_path: Path) -> None:
    _, made, _, copied = applied(loaded(tmp_path, "Counting", ""), "Counting")
    made["apply"](copied, strict=True)
    copied(torch.rand(2, 4))
    with pytest.raises(ValueError, match=r"self\.last is None is False, traced with True"):
        copied(torch.rand(2, 4))


def test_a_saved_trace_repeats_the_warning(tmp_path: Path) -> None:
    new = loaded(tmp_path, "Counting", "")
    assert new.trace is not None
    save(new.trace, tmp_path / "test.trace.json.gz")
    saved = load(str(tmp_path / "test.sched"), target="cpu")
    assert [(each.code, each.message) for each in saved.diagnostics if each.code == "TRC201"] == [*new.trace.told]
    assert new.trace.told
