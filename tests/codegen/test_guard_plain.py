"""Modules whose ops are in a generated forward: what is done to them later, and autocast around them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from modelled import HEAD, plan_model
from torch import nn

from streamsched.codegen.emitter import generate
from streamsched.verify.generated import load_generated

MODEL = """
class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down, self.rest = nn.Linear(8, 8), nn.Linear(8, 8), nn.Identity()

    def forward(self, x):
        up = self.up(x)
        down = self.down(x)
        return self.rest(up * down)

class Louder(Gate):
    def forward(self, x):
        return super().forward(x) * 2

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.drop, self.out = Gate(), nn.Dropout(0.5), nn.Linear(8, 8)

    def forward(self, x):
        gated = self.gate(x)
        return self.out(self.drop(gated))
"""
CUT = """
input x: f32[1, 8]
stream side
sync auto
module "gate.up" on side
"""
BRANCHED = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.out = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        return self.out(torch.cond(x.sum() > 0, lambda x: self.up(x).relu(), lambda x: x.sin(), (x,)))
"""
X = torch.ones(1, 8)


@pytest.fixture(scope="module")
def spaces(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], tuple[dict[str, Any], dict[str, Any]]]:
    """`spaces(model, schedule)`: the classes of a model's source, and the generated file of a schedule over it."""

    def make(model: str, schedule: str) -> tuple[dict[str, Any], dict[str, Any]]:
        program = plan_model(tmp_path_factory.mktemp("plain"), model, schedule, target="cpu")
        return load_generated(HEAD + model), load_generated(generate(program, "cpu"))

    return make


@pytest.fixture(scope="module")
def cut(spaces: Any) -> Any:
    return spaces(MODEL, CUT)


@pytest.fixture(scope="module")
def branched(spaces: Any) -> Any:
    return spaces(BRANCHED, 'input x: f32[1, 8]\nstream side\nsync auto\nmodule "out" on side\n')


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield
    torch._dynamo.reset()


def doubled(module: nn.Module) -> None:
    module.register_forward_hook(lambda module, args, result: result * 2)


def halved(module: nn.Module) -> None:
    module.register_forward_pre_hook(lambda module, args: (args[0] / 2,))


def emptied(module: nn.Module) -> None:
    module.forward = lambda x: x * 0  # type: ignore[assignment]


CHANGES: dict[str, tuple[Callable[[Any, Any], object], str]] = {
    "dropout that draws": (lambda model, _: model.drop.train(), "self.drop is in training mode"),
    "a hook": (lambda model, _: doubled(model.gate), "self.gate has forward hooks"),
    "a pre-hook": (lambda model, _: halved(model.gate), "self.gate has forward hooks"),
    "a forward of its own": (lambda model, _: emptied(model.gate), "self.gate has a forward() of its own"),
    "another class": (
        lambda model, space: setattr(model.gate, "__class__", space["Louder"]),
        "self.gate is of class Louder, traced with Gate",
    ),
    "another module": (
        lambda model, _: setattr(model, "drop", nn.Tanh().eval()),
        "self.drop is of class Tanh, traced with Dropout",
    ),
    "a module without ops": (
        lambda model, _: setattr(model.gate, "rest", nn.Tanh().eval()),
        "self.gate.rest is of class Tanh, traced with Identity",
    ),
}


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("case", CHANGES)
def test_a_changed_module_runs_the_original(case: str, late: bool, cut: Any) -> None:
    change, difference = CHANGES[case]
    original, file = cut
    model = original["Model"]().eval()
    scheduled = copy.deepcopy(model)
    change(model, original)
    for step in (file["apply"], lambda each: change(each, original))[:: 1 if late else -1]:
        step(scheduled)
    assert file["_mismatch"](scheduled, X) == difference
    results = []
    for each in (model, scheduled):
        torch.manual_seed(5)
        results.append(each(X))
    assert torch.equal(*results)
    with pytest.raises(ValueError, match=": ") as raised:
        file["apply"](scheduled, strict=True)(X)
    assert difference in str(raised.value)


def test_modules_that_are_called_keep_what_is_done_to_them(cut: Any) -> None:
    original, file = cut
    model = original["Model"]().eval()
    doubled(model.out)
    emptied(model.gate.down)
    scheduled = file["apply"](copy.deepcopy(model), strict=True)
    assert torch.equal(scheduled(X), model(X))


def test_autocast_around_runs_the_original(cut: Any) -> None:
    original, file = cut
    model = original["Model"]().eval()
    scheduled = file["apply"](copy.deepcopy(model))
    with torch.autocast("cpu", torch.bfloat16):
        assert file["_mismatch"](scheduled, X) == "torch.autocast is True, traced with False"
        assert torch.equal(scheduled(X), model(X))
    with torch.autocast("cpu", enabled=False):
        assert not file["_mismatch"](scheduled, X)


@pytest.mark.parametrize("change", [doubled, halved, emptied, nn.Module.train])
def test_a_changed_module_in_a_branch_runs_the_original(change: Callable[[Any], object], branched: Any) -> None:
    original, file = branched
    model = original["Model"]().eval()
    scheduled = file["apply"](copy.deepcopy(model))
    assert not file["_mismatch"](scheduled, X)
    change(model.up)
    change(scheduled.up)
    assert file["_mismatch"](scheduled, X).startswith("self.up ")
    assert torch.equal(scheduled(X), model(X))


def test_the_checks_fold_away_in_a_compiled_graph(cut: Any) -> None:
    original, file = cut
    model = original["Model"]().eval()
    graphs: list[list[str]] = []

    def backend(graph: torch.fx.GraphModule, inputs: object) -> Any:
        graphs.append([str(node.target) for node in graph.graph.nodes])
        return graph.forward

    scheduled = torch.compile(file["apply"](copy.deepcopy(model), strict=True), fullgraph=True, backend=backend)
    assert torch.equal(scheduled(X), model(X))
    assert len(graphs) == 1
    assert not any("autocast" in target or "hook" in target for target in graphs[0])
