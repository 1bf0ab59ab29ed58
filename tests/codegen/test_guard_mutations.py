"""Calls that differ from the traced one in one place, in many ways: the result of the original, or its exception."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from streamsched.codegen.emitter import generate
from streamsched.dsl.pipeline import load
from streamsched.dsl.trace.tracing.accessors import children
from streamsched.verify.generated import load_generated

PLAIN = """
import torch
from torch import nn
from dataclasses import dataclass

@dataclass
class Options:
    scale: float
    bias: object
    sizes: tuple
    named: dict

torch.export.register_dataclass(Options, serialized_type_name="Options")

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x, state, pair, items, options, gain=(None, 1.0), *, flag: bool = True, **more):
        left = self.left(x) * state["scale"]
        right = self.right(x) * options.scale * options.sizes[0] * options.named["k"]
        if options.bias is not None:
            right = right + options.bias
        if state.get("more") is not None:
            left = left + 1
        for item in items:
            right = right + item
        if pair[1] and flag:
            left = left + pair[0]
        if gain[1] is not None:
            left = left * gain[1]
        state["count"] = state["count"] + 1
        state["sum"] = left + state["sum"] if "sum" in state else left
        for name, value in more.items():
            right = right + value * len(name)
        return {"left": left, "right": (right, left + right)}

def inputs():
    state = {"scale": 2.0, "count": 0, "t": torch.ones(4)}
    options = Options(1.5, None, (2, 1), {"k": 3})
    return (torch.ones(2, 4), state, (torch.ones(4), True), [torch.ones(4), torch.ones(2, 4)], options), {
        "flag": True, "extra": torch.ones(4),
    }
"""

CACHE = """
import torch
from transformers import LlamaConfig, DynamicCache, StaticCache
from transformers.models.llama.modeling_llama import LlamaDecoderLayer

config = LlamaConfig(
    num_hidden_layers=2, hidden_size=16, intermediate_size=16, num_attention_heads=2, num_key_value_heads=1,
    head_dim=8, vocab_size=32,
)
config._attn_implementation = "sdpa"

class Model(LlamaDecoderLayer):
    def __init__(self):
        torch.manual_seed(0)
        super().__init__(config, 0)

def static():
    cache = StaticCache(config, max_cache_len=6)
    cache.early_initialization(1, 1, 8, torch.float32, torch.zeros(1).device)
    return cache

def dynamic():
    cache = DynamicCache(config=config)
    for index in range(2):
        cache.update(torch.ones(1, 1, 3, 8), torch.ones(1, 1, 3, 8), index)
    return cache

def inputs():
    angles = torch.ones(1, 1, 8), torch.ones(1, 1, 8)
    return (torch.ones(1, 1, 16),), {"position_embeddings": angles, "cache": KIND()}
"""
MODELS = {
    "plain": (PLAIN, 'value "right" on side'),
    "static": (CACHE.replace("KIND", "static"), 'module "**.k_proj" on side'),
    "dynamic": (CACHE.replace("KIND", "dynamic"), 'module "**.k_proj" on side'),
}

GONE = object()

CHANGES: dict[str, Callable[[Any], Any]] = {
    "None": lambda value: None,
    "gone": lambda value: GONE,
    "another class": lambda value: type("Other", (), {})(),
    "an int": lambda value: 3,
    "a float": lambda value: 3.5,
    "a bool": lambda value: not value if isinstance(value, bool) else True,
    "a dict": lambda value: {},
    "another dtype": lambda value: value.to(torch.float64) if isinstance(value, torch.Tensor) else str(value),
    "another size": lambda value: torch.ones(*value.shape, 2) if isinstance(value, torch.Tensor) else [value],
    "a longer one": lambda value: value[:1].repeat(3, *[1] * (value.dim() - 1)) if _has_dims(value) else (value, value),
    "a shorter one": lambda value: value[:-1] if isinstance(value, list | tuple) or _has_dims(value) else -value,
    "a list of it": lambda value: [*value] if isinstance(value, tuple) else value,
    "a tuple of it": lambda value: tuple(value) if isinstance(value, list) else value,
    "an equal one of another type": lambda value: int(value) if isinstance(value, bool | float) else float(value),
    "more": lambda value: {**value, "more": 1} if isinstance(value, dict) else [*value, None],
}


def _has_dims(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.dim() > 0


def places(value: Any, steps: tuple[str, ...] = (), depth: int = 5) -> Iterator[tuple[str, ...]]:
    """All places in the arguments of a call, as steps of `children`. Nothing is computed from the devices in them."""
    for step, item in children(value) if depth else ():
        if steps and not isinstance(item, torch.device):
            yield (*steps, step)
        yield from places(item, (*steps, step), depth - 1)


def changed(value: Any, steps: tuple[str, ...], change: Callable[[Any], Any]) -> Any:
    """`value` with another thing at a place; objects, lists and dicts are changed in place."""
    if not steps:
        return change(value)
    step = steps[0]
    key: Any = step[1:] if step.startswith(".") else eval(step[1:-1])
    new = changed(dict(children(value))[step], steps[1:], change)
    if isinstance(value, tuple):
        items = [item for index, item in enumerate(value) if index != key or new is not GONE]
        if new is not GONE:
            items[key] = new
        return tuple(items)
    if isinstance(value, list | dict):
        if new is GONE:
            del value[key]
        else:
            value[key] = new
    elif new is GONE:
        delattr(value, key)
    else:
        setattr(value, key, new)
    return value


def outcome(model: Any, call: tuple[Any, dict[str, Any]]) -> Any:
    """What a call returns and leaves in its arguments, or what it raises."""
    args, kwargs = call
    try:
        result = model(*args, **kwargs)
    except Exception as error:
        return type(error)
    return described((result, args, kwargs))


def described(value: Any, depth: int = 7) -> Any:
    """A value such that two are equal only if they are the same bit for bit."""
    if isinstance(value, torch.Tensor):
        return str(value.dtype), tuple(value.shape), value.detach().contiguous().view(-1).numpy().tobytes()
    inside = children(value) if depth else []
    return type(value).__name__, [(step, described(item, depth - 1)) for step, item in inside] or repr(value)[:40]


@pytest.fixture(scope="module", params=MODELS)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any, Any]]:
    """The original, the same with a schedule, and what makes a call."""
    if request.param != "plain":
        pytest.importorskip("transformers")
    model, placed = MODELS[request.param]
    folder: Path = tmp_path_factory.mktemp(request.param)
    (folder / "model.py").write_text(model)
    (folder / "test.sched").write_text(
        f'schedule test\nmodel "model.py:Model"\ninputs from "model.py:inputs"\nsync auto\nstream side\n{placed}\n'
    )
    loaded = load(str(folder / "test.sched"), target="cpu")
    assert not loaded.failed and loaded.program is not None, loaded.diagnostics
    space = load_generated(generate(loaded.program, "cpu"))
    spec = importlib.util.spec_from_file_location(f"mutated_{request.param}", folder / "model.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    torch.manual_seed(0)
    original, scheduled = module.Model().eval(), module.Model().eval()
    scheduled.load_state_dict(original.state_dict())

    def call() -> tuple[Any, dict[str, Any]]:
        torch.manual_seed(1)
        return module.inputs()  # type: ignore[no-any-return]

    with torch.no_grad():
        strict = space["apply"](scheduled, strict=True)
        args, kwargs = call()
        strict(*args, **kwargs)  # raises if the traced call does not fit
        yield original, space["apply"](scheduled), call
    del sys.modules[spec.name]


@pytest.mark.parametrize("name", CHANGES)
def test_a_call_that_differs_in_one_place(name: str, case: tuple[Any, Any, Any]) -> None:
    original, scheduled, call = case
    unlike = []
    for place in places(call()):
        try:
            calls = [changed(call(), place, CHANGES[name]) for _ in range(2)]
        except (AttributeError, TypeError, ValueError):  # no change of such a thing
            continue
        if outcome(original, calls[0]) != outcome(scheduled, calls[1]):
            unlike.append("".join(place))
    assert not unlike


def test_a_call_with_more(case: tuple[Any, Any, Any]) -> None:
    original, scheduled, call = case
    for more in ({"unexpected": torch.ones(4)}, {"self": 1}, {"unexpected": None}):
        calls = [(args, {**kwargs, **more}) for args, kwargs in (call(), call())]
        assert outcome(original, calls[0]) == outcome(scheduled, calls[1])
    calls = [((*args, torch.ones(4)), kwargs) for args, kwargs in (call(), call())]
    assert outcome(original, calls[0]) == outcome(scheduled, calls[1])


def test_calls_in_a_row(case: tuple[Any, Any, Any]) -> None:
    """With the same objects, which the calls change."""
    original, scheduled, call = case
    calls = [call(), call()]
    for _ in range(3):
        assert outcome(original, calls[0]) == outcome(scheduled, calls[1])
