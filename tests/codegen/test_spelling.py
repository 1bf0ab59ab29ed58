"""Printing ops that no ordinary call traces to, and what is said about devices, imports and arguments."""

from __future__ import annotations

import pytest

from streamsched.codegen.spell.spelling import imports, spell_argument, spell_call, uses
from streamsched.dsl.trace.model import (
    Argument,
    Instance,
    Literal,
    Mapping,
    ModuleCall,
    Op,
    Opaque,
    OpKind,
    Ref,
    Sequence,
    Storage,
    StorageKind,
    Trace,
    Value,
)

X, Y, INDEX, NUMBER, WEIGHT, CONSTANT, UPDATED = map(Ref, range(7))
VALUES = (
    Value("x", (0,), "float32", (2, 3, 4, 5), (), expression="x"),
    Value("y", (0,), "float32", (2, 3, 4, 5), (), expression="y"),
    Value("i", (0,), "int64", (2,), (), expression="i"),
    Value("n", (0,), "int64", (), (), expression="n"),
    Value("weight", (1,), "float32", (4,), (), expression="self.layers[0].weight"),
    Value("c", (2,), "float32", (), (), expression="torch.tensor(2.0)"),
    Value("x_1", (0,), "float32", (2, 3, 4, 5), (), producer=0, same_object=0),
)
STORAGES = (
    Storage("x", StorageKind.INPUT, 0),
    Storage("weight", StorageKind.PARAMETER, 0),
    Storage("c", StorageKind.CONSTANT, 0),
)


def literals(*texts: str) -> tuple[Literal, ...]:
    return tuple(map(Literal, texts))


def op_of(target: str, *args: Argument, result: Argument = X, **kwargs: Argument) -> Op:
    return Op("op", target, OpKind.KERNEL, args, tuple(kwargs.items()), result, (), (), 0)


def trace_of(op: Op, inputs: tuple[int, ...] = (0, 1), values: tuple[Value, ...] = VALUES) -> Trace:
    call = ModuleCall("", 0, "", "m:M", -1, 0, 1, (), (), X)
    return Trace((), "", "", "m:M", (), inputs, X, (op,), values, STORAGES, (call,), (), (), (), ())


def name(value: int) -> str:
    return VALUES[value].expression or VALUES[value].name


def spell(target: str, *args: Argument, result: Argument = X, **kwargs: Argument) -> str:
    op = op_of(target, *args, result=result, **kwargs)
    return spell_call(op, trace_of(op), name)


def test_custom_ops_are_called_from_torch_ops() -> None:
    assert spell("mylib.rotate.default", X, Literal("'left'")) == 'torch.ops.mylib.rotate(x, "left")'
    assert spell("mylib.rotate.out", X, out=Y) == "torch.ops.mylib.rotate.out(x, out=y)"


def test_ops_that_torch_does_not_publish_keep_their_overload() -> None:
    printed = spell("aten._safe_softmax.default", X, *literals("-1", "None"))
    assert printed == "torch.ops.aten._safe_softmax.default(x, -1, None)"


def test_arguments_that_do_not_fit_the_schema_are_printed_as_traced() -> None:
    assert spell("aten.relu.default", X, Y, Y) == "torch.ops.aten.relu.default(x, y, y)"
    assert spell("aten.relu.default", X, slope=Y) == "torch.ops.aten.relu.default(x, slope=y)"


@pytest.mark.parametrize("device", ["'meta'", "torch.device('meta')", "device(type='meta')", 'torch.device("meta:0")'])
def test_the_device_of_the_trace_becomes_that_of_the_first_input(device: str) -> None:
    text = Literal(device)
    assert spell("aten.arange.default", Literal("4"), device=text) == "torch.arange(4, device=x.device)"
    assert spell("aten.to.device", Y, text, Literal("torch.float16")) == "y.to(x.device, torch.float16)"
    assert spell("aten.zeros_like.default", Y, device=text) == "torch.zeros_like(y)"


def test_custom_ops_are_told_the_device_as_well() -> None:
    assert spell("mylib.make.default", device=Literal("'meta'")) == "torch.ops.mylib.make(device=x.device)"


def test_other_devices_are_kept() -> None:
    assert spell("aten.arange.default", Literal("4"), device=Literal("'cpu'")) == 'torch.arange(4, device="cpu")'
    printed = spell("aten.arange.default", Literal("4"), device=Literal("device(type='cuda', index=1)"))
    assert printed == 'torch.arange(4, device="cuda:1")'


def test_without_inputs_a_parameter_tells_the_device() -> None:
    op = op_of("aten.arange.default", Literal("4"), device=Literal("'meta'"))
    printed = spell_call(op, trace_of(op, inputs=()), name)
    assert printed == "torch.arange(4, device=self.layers[0].weight.device)"


def test_without_tensors_the_device_is_the_default_one() -> None:
    op = op_of("aten.arange.default", Literal("4"), device=Literal("'meta'"))
    inner = (Value("made", (2,), "int64", (4,), (), producer=0),)
    assert spell_call(op, trace_of(op, inputs=(), values=inner), name) == "torch.arange(4)"


def test_a_dtype_that_the_tensor_has_is_left_out_of_to() -> None:
    kwargs = {"dtype": Literal("torch.float32"), "layout": Literal("torch.strided"), "device": Literal("'meta'")}
    assert spell("aten.to.dtype_layout", Y, **kwargs) == "y.to(x.device)"
    assert spell("aten.to.dtype_layout", INDEX, **kwargs) == "i.to(x.device, torch.float32)"
    assert spell("aten.to.dtype", Y, Literal("torch.float32")) == "y.to(torch.float32)"


def test_a_constant_is_made_anew_and_a_stored_one_cloned() -> None:
    assert spell("aten.lift_fresh_copy.default", CONSTANT) == "torch.tensor(2.0)"
    assert spell("aten.lift_fresh_copy.default", WEIGHT) == "self.layers[0].weight.clone()"


@pytest.mark.parametrize(
    ("dim", "printed"),
    [("0", "x[1]"), ("1", "x[:, 1]"), ("2", "x[:, :, 1]"), ("3", "x[..., 1]"), ("-1", "x[..., 1]"), ("-4", "x[1]")],
)
def test_indexing_a_dimension(dim: str, printed: str) -> None:
    assert spell("aten.select.int", X, *literals(dim, "1")) == printed


@pytest.mark.parametrize(
    ("bounds", "printed"),
    [
        (("0", "9223372036854775807"), "x[:]"),
        (("1", "9223372036854775807"), "x[1:]"),
        (("None", "-1", "2"), "x[:-1:2]"),
        (("2", "3"), "x[2:3]"),
    ],
)
def test_slices(bounds: tuple[str, ...], printed: str) -> None:
    assert spell("aten.slice.Tensor", X, Literal("0"), *literals(*bounds)) == printed


def test_an_index_of_no_dimensions_is_no_subscript() -> None:
    """`x[n]` would read the number on the host."""
    printed = spell("aten.index.Tensor", X, Sequence("list", (NUMBER,)))
    assert printed == "torch.ops.aten.index.Tensor(x, [n])"


def test_writing_by_index_is_an_assignment_where_the_result_is_the_operand() -> None:
    gaps = Sequence("list", (Literal("None"), INDEX))
    assert spell("aten.index_put_.default", X, gaps, Y, result=UPDATED) == "x[:, i] = y"
    assert spell("aten.index_put_.default", X, Sequence("list", (INDEX,)), Y, result=UPDATED) == "x[i] = y"
    plain = Sequence("list", (INDEX,))
    assert spell("aten.index_put_.default", X, plain, Y) == "x.index_put_([i], y)"
    assert spell("aten.index_put_.default", X, plain, Y, Literal("True"), result=UPDATED) == (
        "x.index_put_([i], y, accumulate=True)"
    )


def test_powers_of_more_than_names_have_spaces() -> None:
    two = Literal("2")
    assert spell("aten.pow.Tensor_Scalar", X, two) == "x**2"
    assert spell("aten.pow.Tensor_Scalar", WEIGHT, two) == "self.layers[0].weight ** 2"
    assert spell("aten.pow.Scalar", Literal("-2"), X) == "(-2) ** x"


def test_arguments_as_text() -> None:
    assert spell_argument(Literal("float('-inf')"), name) == 'float("-inf")'
    assert spell_argument(Literal('"it\'s"'), name) == '"it\'s"'
    assert spell_argument(Sequence("tuple", (X,)), name) == "(x,)"
    assert spell_argument(Sequence("list", (X, Literal("None"))), name) == "[x, None]"
    assert spell_argument(Sequence("slice", literals("1", "None", "2")), name) == "slice(1, None, 2)"
    assert spell_argument(Mapping(("'k'",), (Y,)), name) == '{"k": y}'
    assert spell_argument(Instance("pkg.mod:Outer.Pair", ("a", "b"), (X, Y)), name) == "Outer.Pair(a=x, b=y)"


def test_an_opaque_argument_cannot_be_printed() -> None:
    with pytest.raises(ValueError, match="a Lock has no printed form"):
        spell_argument(Opaque("a Lock"), name)


def test_imports() -> None:
    functional = frozenset({"import torch.nn.functional as F"})
    assert imports(op_of("aten.linear.default", X, Y)) == functional
    assert imports(op_of("aten.mm.default", X, Y)) == frozenset()
    assert imports(op_of("aten.relu.default", X, Y, Y)) == frozenset(), "it falls back to torch.ops"
    assert imports(op_of("aten.silu.out", X, out=Y)) == frozenset()
    assert spell("aten.silu.out", X, out=Y) == "torch.ops.aten.silu.out(x, out=y)"
    pair = Instance("pkg.mod:Outer.Pair", ("a",), (X,))
    assert imports(op_of("mylib.use.default", Sequence("list", (pair,)))) == {"from pkg.mod import Outer"}


def test_uses_are_what_the_expression_names() -> None:
    def uses_of(op: Op) -> tuple[int, ...]:
        return uses(op, trace_of(op))

    assert uses_of(op_of("aten.mm.default", Y, X)) == (1, 0)
    assert uses_of(op_of("aten.mul.Tensor", Y, Y)) == (1,)
    assert uses_of(op_of("aten.arange.default", Literal("4"), device=Literal("'meta'"))) == (0,)
    assert uses_of(op_of("aten.zeros_like.default", Y, device=Literal("'meta'"))) == (1,)
