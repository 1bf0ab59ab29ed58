"""What a generated forward leaves in its arguments, and which calls may do so by running the user's Python again."""

from __future__ import annotations

from pathlib import Path

import pytest
from forwards import forward_lines

from streamsched.codegen.emitter import generate
from streamsched.dsl.check.registry import check
from streamsched.dsl.pipeline import load

torch = pytest.importorskip("torch")

MODEL = """
import torch
from torch import nn

class Inner(nn.Module):
    def forward(self, x, state):
        state["a"] = state["a"] + x
        return x * 2

class Reader(nn.Module):
    def forward(self, x, state):
        return x + state["b"]

class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.reader = Inner(), Reader()

    def forward(self, x, state):
        return self.reader(self.inner(x, state), state)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.reader = Outer(), Outer(), Reader()

    def forward(self, x, state):
        BODY

def inputs():
    return {"x": torch.rand(4), "state": {"a": torch.rand(4), "b": torch.rand(4)}}
"""


def generated(folder: Path, body: str, statements: str = "", calls: int = 2) -> list[str]:
    """The statements of the forward generated for a model, which must do what the model does, call after call."""
    (folder / "model.py").write_text(MODEL.replace("BODY", body))
    head = 'schedule test\ntarget cpu\nmodel "model.py:Model"\ninputs from "model.py:inputs"\nsync auto\n'
    (folder / "test.sched").write_text(head + statements)
    loaded = load(str(folder / "test.sched"), target="cpu")
    assert not loaded.failed and loaded.program is not None, loaded.diagnostics
    text = generate(loaded.program, "cpu")
    made: dict[str, object] = {}
    scope: dict[str, object] = {}
    exec((folder / "model.py").read_text(), scope)
    exec(text, made)
    original, other = scope["Model"]().eval(), made["apply"](scope["Model"]().eval(), strict=True)  # type: ignore[operator]
    states = [{"a": torch.ones(4), "b": torch.ones(4)} for _ in range(2)]
    for call in range(calls):
        x = torch.full((4,), call + 1.0)
        results = [model(x.clone(), state) for model, state in zip((original, other), states, strict=True)]
        assert torch.equal(*results)
        assert {key: str(value) for key, value in states[0].items()} == {k: str(v) for k, v in states[1].items()}
    return [line for line in forward_lines(text) if not line.startswith(("#", "del "))]


def test_calls_that_run_again_assign_themselves(tmp_path: Path) -> None:
    lines = generated(tmp_path, "y = self.first(x, state)\n        return self.reader(y, state)")
    assert lines == ["y = self.first(x, state)", "return self.reader(y, state)"]


def test_what_is_unfolded_assigns_before_the_next_call_that_may_look(tmp_path: Path) -> None:
    lines = generated(
        tmp_path,
        "y = self.first(x, state)\n        return self.reader(y, state)",
        'stream side\nmodule "first.inner" & op "mul" on side\n',
    )
    [assignment] = [line for line in lines if line.startswith('state["a"] = ')]
    readers = [index for index, line in enumerate(lines) if "reader(" in line]
    assert lines.index(assignment) < min(readers)


def test_a_place_that_two_calls_assign_to_is_assigned_by_none_of_them(tmp_path: Path) -> None:
    lines = generated(tmp_path, "y = self.first(x, state)\n        return self.second(y, state)")
    assert lines[-1].startswith("return")
    assert [line for line in lines if line.startswith('state["a"] = ')]


def test_constants_and_the_device(tmp_path: Path) -> None:
    lines = generated(
        tmp_path,
        'state["n"], state["on"], state["e"] = 2, x.device, torch.tensor([], device=x.device)\n        return x + 1',
        calls=1,
    )
    assert lines == [
        'state["n"] = 2',
        'state["on"] = x.device',
        'state["e"] = torch.empty((0,), dtype=torch.float32, device=x.device)',
        "return x + 1",
    ]


def test_what_is_left_lives_on(tmp_path: Path) -> None:
    """A tensor made on a side stream and left in an argument is an output."""
    body = 'k = x * 2\n        state["a"] = k\n        return x + 1'
    (tmp_path / "model.py").write_text(MODEL.replace("BODY", body))
    head = 'schedule test\nmodel "model.py:Model"\ninputs from "model.py:inputs"\n'
    (tmp_path / "test.sched").write_text(f'{head}stream side\nvalue "k" on side\n')
    loaded = load(str(tmp_path / "test.sched"), target="npu")
    assert loaded.program is not None, loaded.diagnostics
    [storage] = [each for each in loaded.program.storages if each.output and each.home]
    assert storage.name == "k"
    text = generate(loaded.program, "npu")
    assert "k.record_stream(" in text
    assert "del k" not in text
    assert not [found for found in check(loaded.program) if found.severity.value == "error"]


def test_an_input_that_is_mutated_on_a_side_stream(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL.replace("BODY", 'state["a"].add_(x)\n        return x + 1'))
    head = 'schedule test\nmodel "model.py:Model"\ninputs from "model.py:inputs"\n'
    (tmp_path / "test.sched").write_text(f'{head}stream side\nop "add_" on side\n')
    loaded = load(str(tmp_path / "test.sched"))
    [found] = [each for each in loaded.diagnostics if each.code == "TGT101"]
    assert '`state["a"]`' in found.message
    assert "on `default`" in (found.help or "")
