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
from streamsched.codegen.guards.checks import checks
from streamsched.dsl.trace.model import (
    ABSENT,
    NONE,
    Argument,
    Assignment,
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
    return [f"{c.found} == {c.traced}" for c in checks(trace, Folding((NONE,) * len(trace.ops)), "cpu")[2:]]


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
    model = SimpleNamespace(training=False, scheduled_strict=None)
    assert mismatch(model, cache_like(3)) == ""
    assert mismatch(model, None) == "the class of cache is 'NoneType', traced with 'StaticCache'"
    assert mismatch(model, (torch.zeros(2),)).startswith("the class of cache is 'tuple'")
    assert mismatch(model, cache_like(2)).startswith("the class of cache.layers[:] is ['StaticLayer', 'StaticLayer']")
    assert mismatch(model, cache_like(3, kind="DynamicLayer")).startswith("the class of cache.layers[:] is")
    assert mismatch(model, cache_like(3, width=32)).startswith("cache.layers[:].keys is [(torch.bfloat16, 1, 8, 32)")


def test_the_constants_of_an_object_are_checked() -> None:
    trace = trace_of(
        ("options", Literal("options")),
        objects=(("options", "Options"),),
        constants=(("options.scale", "1.5"), ("options.sizes[0]", "2"), ("other.scale", "3")),
    )
    assert texts(trace) == [
        'options.__class__.__name__ == "Options"',
        "options.scale == 1.5",
        "[item for item in options.sizes] == [2]",
    ]


def test_of_the_items_that_an_attribute_chooses_from_the_constants_that_all_have_are_checked() -> None:
    trace = cached(3, (1, 8, 64))
    chosen = dataclasses.replace(trace.values[0], expression="cache.layers[self.index].keys")
    constants = tuple(
        (f"cache.layers[{i}].{name}", text) for i in range(3) for name, text in (("n", str(i)), ("m", "7"))
    )
    trace = dataclasses.replace(trace, values=(chosen, *trace.values[1:]), inputs=(0,), constants=constants)
    assert texts(trace)[-1] == "cache.layers[self.index].m == 7"
    assert not any(".n ==" in text for text in texts(trace))


def test_constants_of_another_type_are_others() -> None:
    trace = trace_of(("pair", Sequence("tuple", (Literal("None"), Literal("1.0"), Literal("True")))))
    mismatch, model = mismatch_of(trace), SimpleNamespace(training=False, scheduled_strict=None)
    assert mismatch(model, (None, 1.0, True)) == ""
    for other in ((None, 1, True), (None, 1.0, 1), (None, True, True), [None, 1.0, True], (None, 1.0), None):
        assert mismatch(model, other) != "", other


def assigned(target: str, before: str) -> Trace:
    return trace_of(
        ("state", Literal("state")),
        objects=(("state", "State"),),
        assignments=(Assignment(target, Literal("2"), (0,), 0, 1, before),),
    )


@pytest.mark.parametrize(
    ("target", "before", "text"),
    [
        ("state.count", "1", "state.count == 1"),
        ("state.count", ABSENT, 'hasattr(state, "count") == False'),
        ('state.named["a.b"]', ABSENT, '"a.b" in state.named == False'),
        ("state.mode", "class Mode", 'state.mode.__class__.__name__ == "Mode"'),
        ("state.held", "class Tensor", "isinstance(state.held, torch.Tensor) == True"),
        ("state.layers[0].n", ABSENT, '[hasattr(item, "n") for item in state.layers] == [False]'),
    ],
)
def test_what_a_call_replaces_is_checked(target: str, before: str, text: str) -> None:
    assert texts(assigned(target, before))[-1] == text


def test_what_one_item_of_a_list_holds_is_no_check_of_all() -> None:
    trace = dataclasses.replace(cached(2, (1, 8)), assignments=assigned("cache.layers[0].n", ABSENT).assignments)
    assert texts(trace)[-1] == 'hasattr(cache.layers[0], "n") == False'


def test_an_object_that_was_replaced_is_a_difference() -> None:
    mismatch, model = mismatch_of(assigned("state.mode", "class Mode")), SimpleNamespace(training=False)
    model.scheduled_strict = None
    state = type("State", (), {"mode": type("Mode", (), {})()})()
    assert mismatch(model, state) == ""
    state.mode = None  # as the first call has left it
    assert mismatch(model, state) == "the class of state.mode is 'NoneType', traced with 'Mode'"


def test_what_is_missing_is_a_difference() -> None:
    mismatch, model = mismatch_of(assigned("state.count", "1")), SimpleNamespace(training=False, scheduled_strict=None)
    assert mismatch(model, type("State", (), {})()).startswith("what was traced is missing: AttributeError(")


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
    model = SimpleNamespace(training=False, scheduled_strict=None)
    assert (mismatch(model, torch.zeros(x), torch.zeros(mask)) == "") is fits
    assert mismatch(model, None, torch.zeros(2)).startswith("whether x is a tensor is False")
