"""Which checks a generated forward makes, for arguments of all kinds."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from plans import program_of
from traces import TraceBuilder

from streamsched.codegen.emitter import generate
from streamsched.codegen.forward.folding import Folding
from streamsched.codegen.forward.guards import checks
from streamsched.dsl.trace.model import (
    NONE,
    Argument,
    Instance,
    Literal,
    Mapping,
    Parameter,
    ParameterKind,
    Ref,
    Sequence,
    Storage,
    StorageKind,
    Trace,
    Value,
)
from streamsched.verify.generated import load_generated

PLAIN = ParameterKind.POSITIONAL_OR_KEYWORD


def trace_of(*given: tuple[str, Argument], **changes: Any) -> Trace:
    """A trace of one kernel over inputs, whose forward() was given arguments; the inputs are named by `Ref`s."""
    builder = TraceBuilder()
    builder.input("x", "y", "z")
    builder.kernel("out", "x")
    trace = builder.build("out")
    call = dataclasses.replace(trace.calls[0], args=tuple(argument for _, argument in given))
    parameters = tuple(Parameter(name, PLAIN) for name, _ in given)
    values = tuple(
        dataclasses.replace(value, shape=(2, 3), dtype="float32") if value.expression else value
        for value in trace.values
    )
    changed: dict[str, Any] = {
        "calls": (call, *trace.calls[1:]),
        "parameters": parameters,
        "values": values,
        "inputs": (),
    }
    return dataclasses.replace(trace, **{**changed, **changes})


def texts(trace: Trace) -> list[str]:
    """What is compared, with what; the first, self.training, left out."""
    return [f"{c.found} == {c.traced}" for c in checks(trace, Folding((NONE,) * len(trace.ops)))[1:]]


X, Y, Z = Ref(0), Ref(1), Ref(2)
TENSOR = "(torch.float32, 2, 3)"


def test_a_list_of_tensors_and_constants_is_one_check() -> None:
    trace = trace_of(("pair", Sequence("tuple", (X, Literal("None"), Y))))
    assert texts(trace) == ['pair.__class__.__name__ == "tuple"', f"[*pair] == [{TENSOR}, None, {TENSOR}]"]


def test_nested_containers_are_checked_from_the_outside() -> None:
    trace = trace_of(("inputs", Mapping(("'ids'", "'more'"), (X, Sequence("list", (Y, Z))))))
    assert texts(trace) == [
        'inputs.__class__.__name__ == "dict"',
        '{*inputs} == {"ids", "more"}',
        f'inputs["ids"] == {TENSOR}',
        'inputs["more"].__class__.__name__ == "list"',
        f'[*inputs["more"]] == [{TENSOR}, {TENSOR}]',
    ]


def test_a_dataclass_is_known_by_its_class() -> None:
    trace = trace_of(("state", Instance("model:State", ("h", "c"), (X, Literal("1")))))
    assert texts(trace) == ['state.__class__.__name__ == "State"', f"state.h == {TENSOR}", "state.c == 1"]


def cached(layers: int, *shapes: tuple[int | str, ...]) -> Trace:
    """A trace with a cache of layers, each with keys and values of the shape in its turn."""
    names = [f"cache.layers[{layer}].{part}" for layer in range(layers) for part in ("keys", "values")]
    values = tuple(
        Value(f"v{i}", (i,), "bfloat16", shapes[i // 2 % len(shapes)], (1,) * 3, expression=name)  # type: ignore[arg-type]
        for i, name in enumerate(names)
    )
    objects = [("cache", "StaticCache"), ("cache.layers", "list")]
    objects += [(f"cache.layers[{layer}]", "StaticLayer") for layer in range(layers)]
    return trace_of(
        ("cache", Literal("cache")),
        values=values,
        storages=tuple(Storage(name, StorageKind.INPUT, 1) for name in names),
        inputs=tuple(range(len(values))),
        objects=tuple(objects),
        ops=(),
        result=Literal("None"),
        statements=(),
    )


def test_the_layers_of_a_cache_are_checked_together() -> None:
    assert texts(cached(61, (1, 8, 64))) == [
        'cache.__class__.__name__ == "StaticCache"',
        'cache.layers.__class__.__name__ == "list"',
        '[item.__class__.__name__ for item in cache.layers] == ["StaticLayer"] * 61',
        "[item.keys for item in cache.layers] == [(torch.bfloat16, 1, 8, 64)] * 61",
        "[item.values for item in cache.layers] == [(torch.bfloat16, 1, 8, 64)] * 61",
    ]


def test_layers_of_two_sizes_are_both_in_the_check() -> None:
    keys = "[item.keys for item in cache.layers] == [(torch.bfloat16, 1)] + [(torch.bfloat16, 2)]"
    assert keys in texts(cached(2, (1,), (2,)))


def test_layers_of_an_open_size_are_checked_each_with_itself() -> None:
    open_layout = "[(torch.bfloat16, *item.keys.shape[0:1], 8) for item in cache.layers]"
    found = texts(cached(61, ("batch", 8)))
    assert "[isinstance(item.keys, torch.Tensor) for item in cache.layers] == [True] * 61" in found
    assert f"[item.keys for item in cache.layers] == {open_layout}" in found
    assert len(found) == 7


def test_an_item_that_an_attribute_chooses_is_checked_as_all_items_are() -> None:
    trace = cached(3, (1, 8, 64))
    chosen = dataclasses.replace(trace.values[0], expression="cache.layers[self.index].keys")
    trace = dataclasses.replace(trace, values=(chosen, *trace.values[1:]), inputs=(0,))
    assert texts(trace)[2:] == [
        "self.index < len(cache.layers) == True",
        'cache.layers[self.index].__class__.__name__ == "StaticLayer"',
        "cache.layers[self.index].keys == (torch.bfloat16, 1, 8, 64)",
    ]


def mismatch_of(trace: Trace) -> Any:
    text = generate(program_of("sync auto\n", trace, "npu"), "cpu")
    return load_generated(text)["_mismatch"]


def cache_like(layers: int, kind: str = "StaticLayer", width: int = 64) -> Any:
    tensor = torch.zeros(1, 8, width, dtype=torch.bfloat16)
    layer = type(kind, (), {"keys": tensor, "values": tensor})
    return type("StaticCache", (SimpleNamespace,), {})(layers=[layer() for _ in range(layers)])


def test_no_check_of_a_cache_raises() -> None:
    mismatch = mismatch_of(cached(3, (1, 8, 64)))
    model = SimpleNamespace(training=False)
    assert mismatch(model, cache_like(3)) == ""
    assert mismatch(model, None) == "the class of cache is 'NoneType', traced with 'StaticCache'"
    assert mismatch(model, (torch.zeros(2),)).startswith("the class of cache is 'tuple'")
    assert mismatch(model, cache_like(2)).startswith("the class of cache.layers[:] is ['StaticLayer', 'StaticLayer']")
    assert mismatch(model, cache_like(3, kind="DynamicLayer")).startswith("the class of cache.layers[:] is")
    assert mismatch(model, cache_like(3, width=32)).startswith("cache.layers[:].keys is [(torch.bfloat16, 1, 8, 32)")


def open_sizes() -> Trace:
    trace = trace_of(("x", X), ("mask", Y))
    shapes: tuple[Any, ...] = (("batch", "seq", 8), ("batch", "seq + 1"), (2,), (2,))
    values = tuple(dataclasses.replace(v, shape=shapes[i]) for i, v in enumerate(trace.values))
    return dataclasses.replace(trace, values=values)


@pytest.mark.parametrize(
    ("x", "mask", "fits"),
    [
        ((2, 5, 8), (2, 6), True),
        ((7, 1, 8), (7, 2), True),
        ((2, 5, 9), (2, 6), False),
        ((2, 5, 8), (3, 6), False),
        ((2, 5, 8), (2, 5), False),
        ((2, 8), (2, 6), False),
        ((), (2, 6), False),
    ],
)
def test_named_sizes_are_open_but_must_agree(x: tuple[int, ...], mask: tuple[int, ...], fits: bool) -> None:
    mismatch = mismatch_of(open_sizes())
    model = SimpleNamespace(training=False)
    assert (mismatch(model, torch.zeros(x), torch.zeros(mask)) == "") is fits
    assert mismatch(model, None, torch.zeros(2)).startswith("whether x is a tensor is False")
