"""Calls unlike the traced one: what a generated forward does with them, and how it is bound and taken off."""

from __future__ import annotations

import copy
import dataclasses
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from modelled import HEAD, plan_model
from torch import nn

from streamsched.codegen.emitter import generate
from streamsched.dsl.program.steps import Program
from streamsched.dsl.trace.model import Scope
from streamsched.verify.generated import load_generated

MODEL = """
class Block(nn.Module):
    def __init__(self, width=8, skip=True):
        super().__init__()
        self.left, self.right = nn.Linear(width, width), nn.Linear(width, width)
        self.skip, self.limit, self.drop = skip, 4, 0.5

    def scaled(self, x):
        return x * 0.5 if self.limit > 3 else x

    def forward(self, x, mask=None, pair=(None, 1.0), *, gain: float = 2.0, **options):
        left = self.left(x)
        right = self.scaled(self.right(x))
        if mask is not None:
            right = right + mask
        out = F.dropout(left + right, self.drop, self.training) * gain
        if self.skip and not options.get("bare"):
            out = out + x
        return out

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, x):
        return self.block(x)
"""
PARALLEL = """
stream side
sync auto
value "right" on side
"""
DECODE = f"input x: f32[1, 8]\n{PARALLEL}"
PREFILL = f"input x: f32[5, 8]\n{PARALLEL}"


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Program]:
    """`programs(name, schedule)`: the program of a schedule over a `Block`."""
    found: dict[tuple[str, str], Program] = {}

    def make(name: str, schedule: str) -> Program:
        if (name, schedule) not in found:
            folder = tmp_path_factory.mktemp("guards")
            planned = plan_model(folder, MODEL.replace("class Model(", "class Outer(") + "\nModel = Block", schedule)
            found[name, schedule] = dataclasses.replace(planned, name=name)
        return found[name, schedule]

    return make


@pytest.fixture(scope="module")
def original() -> dict[str, Any]:
    return load_generated(HEAD + MODEL)


@pytest.fixture(autouse=True)
def reset_dynamo() -> Iterator[None]:
    torch.manual_seed(3)
    with torch.no_grad():
        yield
    torch._dynamo.reset()


@pytest.fixture
def decode(programs: Any) -> dict[str, Any]:
    return loaded(programs("decode", DECODE))


@pytest.fixture
def prefill(programs: Any) -> dict[str, Any]:
    return loaded(programs("prefill", PREFILL))


def loaded(program: Program, scope: Scope | None = None) -> dict[str, Any]:
    assert program.trace is not None
    program = dataclasses.replace(program, trace=dataclasses.replace(program.trace, scope=scope))
    return load_generated(generate(program, "cpu"))


def counted(space: dict[str, Any], calls: list[str], name: str) -> dict[str, Any]:
    """The generated file `space`, noting in `calls` each run of its forward that its checks let through."""
    checked = space["_mismatch"]

    def mismatch(*args: Any, **kwargs: Any) -> str:
        found: str = checked(*args, **kwargs)
        if not found:
            calls.append(name)
        return found

    space["_mismatch"] = mismatch
    return space


def block(original: dict[str, Any], **options: Any) -> Any:
    return original["Block"](**options).eval()


def trained(model: Any) -> Any:
    return model.train()


CASES: dict[str, tuple[Callable[[Any], Any], tuple[Any, ...], dict[str, Any], str]] = {
    "another size": (nn.Module.eval, (torch.ones(2, 8),), {}, "x is (torch.float32, 2, 8), traced with"),
    "another dtype": (nn.Module.double, (torch.ones(1, 8).double(),), {}, "x is (torch.float64, 1, 8)"),
    "a mask": (nn.Module.eval, (torch.ones(1, 8), torch.ones(1, 8)), {}, "mask is (torch.float32, 1, 8)"),
    "another constant": (nn.Module.eval, (torch.ones(1, 8),), {"gain": 3.0}, "gain is 3.0, traced with 2.0"),
    "an int for a float": (nn.Module.eval, (torch.ones(1, 8),), {"gain": 2}, "gain is 2, traced with 2.0"),
    "another pair": (
        nn.Module.eval,
        (torch.ones(1, 8), None, (None, 2.0)),
        {},
        "pair is [None, 2.0]",
    ),
    "a list": (
        nn.Module.eval,
        (torch.ones(1, 8), None, [None, 1.0]),
        {},
        "the class of pair is 'list', traced with 'tuple'",
    ),
    "an option": (nn.Module.eval, (torch.ones(1, 8),), {"bare": True}, "options is ['bare'], traced with []"),
    "training": (trained, (torch.ones(1, 8),), {}, "self.training is True, traced with False"),
}


@pytest.mark.parametrize("case", CASES)
def test_another_call_runs_the_original(case: str, original: dict[str, Any], decode: dict[str, Any]) -> None:
    change, args, kwargs, difference = CASES[case]
    model = change(block(original))
    scheduled = decode["apply"](copy.deepcopy(model))
    assert decode["_mismatch"](scheduled, *args, **kwargs).startswith(difference)
    torch.manual_seed(1)
    expected = model(*args, **kwargs)
    torch.manual_seed(1)
    assert torch.equal(scheduled(*args, **kwargs), expected)
    strict = decode["apply"](copy.deepcopy(model), strict=True)
    with pytest.raises(ValueError, match="decode: ") as raised:
        strict(*args, **kwargs)
    assert difference in str(raised.value)


def test_a_call_like_the_traced_one_runs_the_scheduled_forward(original: dict[str, Any], decode: Any) -> None:
    calls: list[str] = []
    scheduled = counted(decode, calls, "decode")["apply"](block(original))
    scheduled(torch.ones(1, 8))
    scheduled(x=torch.ones(1, 8), pair=(None, 1.0))
    assert calls == ["decode", "decode"]


def test_gradients_are_those_of_the_original(original: dict[str, Any], decode: dict[str, Any]) -> None:
    """The scheduled forward is for inference, and yet no other function where it is called with gradients."""
    model = block(original)
    scheduled = decode["apply"](copy.deepcopy(model), strict=True)
    with torch.enable_grad():
        for each in (model, scheduled):
            each(torch.ones(1, 8)).sum().backward()
    gradients = [[parameter.grad for parameter in each.parameters()] for each in (model, scheduled)]
    assert all(torch.equal(mine, its) for mine, its in zip(*gradients, strict=True))


def test_the_device_is_that_of_the_call(original: dict[str, Any], decode: dict[str, Any]) -> None:
    scheduled = decode["apply"](block(original).to("meta"), strict=True)
    assert scheduled(torch.ones(1, 8, device="meta")).device.type == "meta"


def test_a_model_that_was_cast_is_noticed_by_its_parameters(original: dict[str, Any], decode: Any) -> None:
    scheduled = decode["apply"](block(original).to(torch.bfloat16), strict=True)
    with pytest.raises(ValueError, match=r"left.bias is torch.bfloat16, traced with torch.float32"):
        scheduled(torch.ones(1, 8))


@pytest.mark.parametrize(("name", "value"), [("skip", False), ("limit", 2)])
def test_an_attribute_that_steers_forward_is_noticed(name: str, value: Any, original: Any, decode: Any) -> None:
    model = block(original)
    setattr(model, name, value)
    scheduled = decode["apply"](copy.deepcopy(model))
    assert f"self.{name}" in decode["_mismatch"](scheduled, torch.ones(1, 8))
    assert torch.equal(scheduled(torch.ones(1, 8)), model(torch.ones(1, 8)))


def test_two_schedules_chain_and_each_takes_its_calls(original: Any, decode: Any, prefill: Any) -> None:
    calls: list[str] = []
    model = block(original)
    scheduled = counted(decode, calls, "decode")["apply"](copy.deepcopy(model))
    counted(prefill, calls, "prefill")["apply"](scheduled)
    for size in (1, 5, 3):
        x = torch.randn(size, 8)
        assert torch.equal(scheduled(x), model(x))
    assert calls == ["decode", "prefill"]


def test_strict_below_raises_where_no_schedule_fits(original: Any, decode: Any, prefill: Any) -> None:
    scheduled = prefill["apply"](decode["apply"](block(original)), strict=True)
    scheduled(torch.ones(5, 8))
    scheduled(torch.ones(1, 8))
    with pytest.raises(ValueError, match="decode: x is"):
        scheduled(torch.ones(3, 8))


@pytest.mark.parametrize("first", ["decode", "prefill"])
def test_unapply_takes_one_schedule_off_wherever_it_is(first: str, original: Any, decode: Any, prefill: Any) -> None:
    model = block(original)
    before = dict(vars(model))
    calls: list[str] = []
    spaces = {"decode": counted(decode, calls, "decode"), "prefill": counted(prefill, calls, "prefill")}
    for space in spaces.values():
        assert space["apply"](model) is model
    assert spaces.pop(first)["unapply"](model) is model
    for size in (1, 5, 3):
        model(torch.ones(size, 8))
    (other,) = spaces
    assert calls == [other]
    spaces[other]["unapply"](model)
    assert vars(model) == before
    assert "forward" not in vars(model)


def test_unapply_gives_back_a_forward_of_the_instance(original: Any, decode: Any) -> None:
    model = block(original)
    own = model.forward = lambda x: x
    decode["unapply"](decode["apply"](model))
    assert model.forward is own


def test_the_same_schedule_replaces_itself(original: Any, decode: Any) -> None:
    model = block(original)
    decode["apply"](decode["apply"](model))
    assert list(model.scheduled_before) == ["decode"]
    decode["unapply"](model)
    assert "forward" not in vars(model)


def test_nothing_of_it_is_state(original: Any, decode: Any) -> None:
    model = block(original)
    keys, modules = list(model.state_dict()), len(list(model.modules()))
    decode["apply"](model)
    assert list(model.state_dict()) == keys
    assert len(list(model.modules())) == modules


def test_a_copy_has_its_own_forward(original: Any, decode: Any) -> None:
    scheduled = decode["apply"](block(original))
    copied = copy.deepcopy(scheduled)
    with torch.no_grad():
        copied.left.weight.zero_()
    x = torch.randn(1, 8)
    assert copied.forward.__self__ is copied
    assert copied.scheduled_before["decode"].__self__ is copied
    assert not torch.equal(copied(x), scheduled(x))
    decode["unapply"](copied)
    assert "forward" in vars(scheduled)


def test_the_checks_fold_away_in_a_compiled_graph(original: Any, decode: Any, prefill: Any) -> None:
    model = block(original)
    plain = copy.deepcopy(model)
    decode["_mismatch"], checked = lambda *_, **__: "", decode["_mismatch"]
    unchecked = graphs_of(decode["apply"](plain), model, (1,))
    decode["_mismatch"] = checked
    chained = prefill["apply"](decode["apply"](copy.deepcopy(model)))
    graphs = graphs_of(chained, model, (1, 5, 3, 1, 5, 3))
    assert graphs[:2] == unchecked * 2
    assert len(graphs) == 3


def graphs_of(scheduled: Any, model: Any, sizes: tuple[int, ...]) -> list[list[str]]:
    """What is in each graph that calls of the compiled `scheduled` give; all results must be those of `model`."""
    graphs: list[list[str]] = []

    def backend(graph: torch.fx.GraphModule, inputs: object) -> Any:
        graphs.append(sorted(str(node.target) for node in graph.graph.nodes))
        return graph.forward

    torch._dynamo.reset()
    compiled = torch.compile(scheduled, fullgraph=True, backend=backend, dynamic=False)
    for size in sizes:
        x = torch.randn(size, 8)
        assert torch.equal(compiled(x), model(x))
    return graphs


# Finding the modules in a live model


def live(original: dict[str, Any], layers: int = 3) -> Any:
    class Llm(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.ModuleDict({"mlp": original["Block"]()}) for _ in range(layers))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for layer in self.layers:
                x = layer["mlp"](x)
            return x

    class Runner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = Llm()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.model(x)  # type: ignore[no-any-return]

    return Runner().eval()


SCOPE = Scope("layers.*.mlp", "Block", ("layers.0.mlp", "layers.1.mlp"))


def test_modules_in_scope_are_found_under_a_prefix(
    original: Any, programs: Any, caplog: pytest.LogCaptureFixture
) -> None:
    space = loaded(programs("decode", DECODE), SCOPE)
    model = live(original)
    expected = model(torch.ones(1, 8))
    with caplog.at_level(logging.INFO, "streamsched"):
        assert space["apply"](model, strict=True) is model
    assert caplog.messages == [f"decode: bound to {[f'model.layers.{layer}.mlp' for layer in range(3)]}"]
    assert all("forward" in vars(layer["mlp"]) for layer in model.model.layers)
    assert torch.equal(model(torch.ones(1, 8)), expected)
    space["unapply"](model.model)
    assert not any("scheduled_before" in vars(module) for module in model.modules())


def test_a_compiled_layer_is_found_by_its_path(original: Any, programs: Any) -> None:
    space = loaded(programs("decode", DECODE), SCOPE)
    model = live(original)
    model.model.layers[1] = torch.compile(model.model.layers[1], backend="eager")
    space["apply"](torch.compile(model, backend="eager"))
    assert "scheduled_before" in vars(model.model.layers[1]._orig_mod["mlp"])
    assert sum("scheduled_before" in vars(module) for module in model.modules()) == 3


def test_no_module_in_scope_is_an_error_with_what_there_is(original: Any, programs: Any) -> None:
    space = loaded(programs("decode", DECODE), dataclasses.replace(SCOPE, glob="blocks.*.mlp"))
    with pytest.raises(ValueError, match=r"mlp of class Block; Runner has of that class: \['model.layers.0"):
        space["apply"](live(original))
    with pytest.raises(ValueError, match=r"Linear has of (that class|it): \[\]"):
        space["apply"](nn.Linear(2, 2))


def test_two_prefixes_are_an_error_that_names_both(original: Any, programs: Any) -> None:
    space = loaded(programs("decode", DECODE), SCOPE)
    both = nn.ModuleDict({"draft": live(original), "main": live(original)})
    with pytest.raises(ValueError, match=r"under \['draft\.model\.', 'main\.model\.'\]"):
        space["apply"](both)
    assert not any("forward" in vars(module) for module in both.modules())


def test_without_a_scope_the_one_module_of_the_class_is_taken(original: Any, decode: Any) -> None:
    wrapped = torch.compile(nn.Sequential(block(original)), backend="eager")
    decode["apply"](wrapped)
    assert "forward" in vars(wrapped._orig_mod[0])
    with pytest.raises(ValueError, match=r"one module of class Block; Sequential has of it: \['0', '1'\]"):
        decode["apply"](nn.Sequential(block(original), block(original)))
    with pytest.raises(ValueError, match=r"Linear has of (that class|it): \[\]"):
        decode["apply"](nn.Linear(2, 2))


def test_generated_files_stay_as_the_formatter_leaves_them(programs: Any, tmp_path: Path) -> None:
    import subprocess
    import sys

    program = programs("decode", DECODE)
    for scope in (None, SCOPE, dataclasses.replace(SCOPE, glob="**.layers.{0..3}.{mlp,moe}")):
        text = generate(dataclasses.replace(program, trace=dataclasses.replace(program.trace, scope=scope)), "npu")
        (tmp_path / f"file{len(list(tmp_path.iterdir()))}.py").write_text(text, encoding="utf-8")
    for verb in (("format", "--check"), ("check",)):
        command = [sys.executable, "-m", "ruff", *verb, "--isolated", str(tmp_path)]
        done = subprocess.run(command, text=True, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout
