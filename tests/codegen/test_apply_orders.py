"""Three schedules of one model, put on and taken off in any order."""

from __future__ import annotations

import copy
import dataclasses
import types
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from modelled import HEAD, plan_model
from torch import nn

from streamsched.codegen.emitter import generate
from streamsched.dsl.trace.model import Scope
from streamsched.verify.generated import load_generated

BLOCK = """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        left = self.left(x)
        right = self.right(x)
        return left + right
"""
SIZES = {"first": 1, "second": 2, "third": 3}
"""The schedules, and the number of rows that each is for."""


def own_forward(self: Any, x: torch.Tensor) -> torch.Tensor:
    return self.left(x) + self.right(x)  # type: ignore[no-any-return]


class Model(nn.Module):
    """Two blocks; the second has a forward of its own."""

    def __init__(self, block: Any) -> None:
        super().__init__()
        self.layers = nn.ModuleList(block() for _ in range(2))
        self.layers[1].forward = types.MethodType(own_forward, self.layers[1])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The generated files, with streams and events as plain objects; each counts the calls that it takes."""
    found = {}
    for name, rows in SIZES.items():
        source = BLOCK.replace("class Block", "class Model")
        placed = f'input x: f32[{rows}, 4]\nstream side, {name}_side\nsync auto\nvalue "right" on side\n'
        program = plan_model(tmp_path_factory.mktemp(name), source, placed, "cuda")
        assert program.trace is not None
        trace = dataclasses.replace(program.trace, root="model:Block", scope=Scope("layers.*", "", ("layers.0",)))
        text = generate(dataclasses.replace(program, trace=trace, name=name), "cuda")
        space = load_generated(
            text.replace("torch.cuda.Stream()", "object()").replace("torch.cuda.Event()", "object()")
        )
        space["calls"] = []
        space["forward"] = counting(space, name)
        found[name] = space
    return found


def counting(space: dict[str, Any], name: str) -> Any:
    def forward(self: Any, x: torch.Tensor) -> torch.Tensor:
        if space["_mismatch"](self, x):
            return self.scheduled_before[name](x)  # type: ignore[no-any-return]
        assert set(self.scheduled_streams) >= {"side"}
        assert len(self.scheduled_events[name]) > 1
        space["calls"].append(self)
        return self.left(x) + self.right(x)  # type: ignore[no-any-return]

    return forward


VERBS = ("apply", "unapply", "strict", "copy")
STEPS = st.lists(st.tuples(st.sampled_from(VERBS), st.sampled_from([*SIZES])), max_size=9)


@settings(deadline=None)
@given(STEPS, st.permutations([*SIZES]))
def test_any_order(files: dict[str, dict[str, Any]], steps: list[tuple[str, str]], last: list[str]) -> None:
    model = Model(load_generated(HEAD + BLOCK)["Block"]).eval()
    before = [dict(vars(module)) for module in model.modules()]
    applied: list[str] = []
    original, strict = True, False
    for step, name in steps:
        if step == "copy":
            model, original = copy.deepcopy(model), False
            continue
        applied = [other for other in applied if other != name]
        if step == "unapply":
            files[name]["unapply"](model)
        else:
            strict = step == "strict"
            files[name]["apply"](model, strict=strict)
            applied.append(name)
        hold(model, files, applied, strict=strict and bool(applied))
    for name in last:
        files[name]["unapply"](model)
    after = [dict(vars(module)) for module in model.modules()]
    assert [each.keys() for each in after] == [each.keys() for each in before]
    assert not original or after == before


def hold(model: Model, files: dict[str, dict[str, Any]], applied: list[str], strict: bool) -> None:
    """Each schedule takes its calls; the original takes those of all others, unless the last `apply` was strict."""
    for name, rows in {**SIZES, "none": 4}.items():
        for space in files.values():
            space["calls"].clear()
        x = torch.ones(rows, 4)
        if strict and name not in applied:
            with pytest.raises(ValueError, match=f"{applied[0]}: x is"):
                model(x)
            continue
        model(x)
        taken = {other: len(space["calls"]) for other, space in files.items() if space["calls"]}
        assert taken == ({name: 2} if name in applied else {})
    for layer in model.layers:
        assert list(vars(layer).get("scheduled_before", {})) == applied
        assert set(vars(layer).get("scheduled_events", {})) == set(applied)
    first, second = (vars(layer).get("scheduled_streams") for layer in model.layers)
    assert first is second or first == second
