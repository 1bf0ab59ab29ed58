"""What ops cost by their shapes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamsched.dsl.trace.costs import Cost, cost_of
from streamsched.dsl.trace.model import (
    NONE,
    Argument,
    Literal,
    ModuleCall,
    Op,
    OpKind,
    Ref,
    Sequence,
    Storage,
    StorageKind,
    Trace,
    Value,
)


def cost(target: str, *shapes: tuple[int, ...], out: tuple[int, ...], dtype: str = "float16") -> Cost | None:
    """The cost of one op with operands and a result of the given shapes."""
    trace = one_op(target, *shapes, out=out, dtype=dtype)
    return cost_of(trace.ops[0], trace)


def one_op(target: str, *shapes: tuple[int, ...], out: tuple[int, ...], dtype: str = "float16") -> Trace:
    def value(number: int, shape: tuple[int, ...]) -> Value:
        strides = [1]
        for dim in reversed(shape[1:]):
            strides.insert(0, strides[0] * dim)
        made = number == len(shapes)
        stride = tuple(strides) if shape else ()
        return Value(f"v{number}", (number,), dtype, shape, stride, 0 if made else NONE, "" if made else f"x{number}")

    values = tuple(value(number, shape) for number, shape in enumerate((*shapes, out)))
    args: tuple[Argument, ...] = tuple(Ref(number) for number in range(len(shapes)))
    result = Ref(len(shapes))
    op = Op("op", target, OpKind.KERNEL, args, (), result, (), (len(shapes),), 0)
    root = ModuleCall("", 0, "", "m:M", NONE, 0, 1, (), (), Literal("None"))
    storages = tuple(Storage(value.name, StorageKind.OP, 0) for value in values)
    return Trace((), "2", "3", "m:M", (), (), result, (op,), values, storages, (root,), (), (), (), ())


@pytest.mark.parametrize(
    ("target", "shapes", "out", "flops"),
    [
        ("aten.mm.default", [(4, 8), (8, 16)], (4, 16), 2 * 4 * 8 * 16),
        ("aten.linear.default", [(2, 4, 8), (16, 8), (16,)], (2, 4, 16), 2 * 2 * 4 * 8 * 16),
        ("aten.addmm.default", [(16,), (4, 8), (8, 16)], (4, 16), 2 * 4 * 8 * 16),
        ("aten.bmm.default", [(3, 4, 8), (3, 8, 16)], (3, 4, 16), 2 * 3 * 4 * 8 * 16),
        ("aten.matmul.default", [(4, 8), (8,)], (4,), 2 * 4 * 8),
        ("aten.baddbmm.default", [(3, 4, 16), (3, 4, 8), (3, 8, 16)], (3, 4, 16), 2 * 3 * 4 * 8 * 16),
        ("aten._grouped_mm.default", [(6, 8), (4, 8, 16), (4,)], (6, 16), 2 * 6 * 8 * 16),
        ("aten.conv2d.default", [(1, 3, 8, 8), (5, 3, 3, 3)], (1, 5, 6, 6), 2 * 5 * 6 * 6 * 27),
        ("aten.conv_transpose2d.input", [(1, 3, 4, 4), (3, 5, 2, 2)], (1, 5, 8, 8), 2 * 3 * 16 * 5 * 4),
        (
            "aten.scaled_dot_product_attention.default",
            [(1, 2, 4, 8), (1, 2, 6, 8), (1, 2, 6, 16)],
            (1, 2, 4, 16),
            2 * 2 * 4 * 6 * (8 + 16),
        ),
    ],
)
def test_products(target: str, shapes: list[tuple[int, ...]], out: tuple[int, ...], flops: int) -> None:
    found = cost(target, *shapes, out=out)
    assert found is not None and found.product
    assert found.flops == pytest.approx(flops)


def test_a_formula_agrees_with_torch() -> None:
    torch = pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode

    def counted(function: object, *shapes: tuple[int, ...]) -> int:
        with FlopCounterMode(display=False) as counter:
            function(*(torch.empty(shape, device="meta") for shape in shapes))  # type: ignore[operator]
        return counter.get_total_flops()

    for name, function, shapes, out in (
        ("linear", torch.nn.functional.linear, [(2, 4, 8), (16, 8)], (2, 4, 16)),
        ("conv2d", torch.nn.functional.conv2d, [(1, 3, 8, 8), (5, 3, 3, 3)], (1, 5, 6, 6)),
        ("conv_transpose2d", torch.nn.functional.conv_transpose2d, [(1, 3, 4, 4), (3, 5, 2, 2)], (1, 5, 5, 5)),
        ("baddbmm", torch.baddbmm, [(3, 4, 16), (3, 4, 8), (3, 8, 16)], (3, 4, 16)),
    ):
        found = cost(f"aten.{name}.default", *shapes, out=out)
        assert found is not None and found.flops == counted(function, *shapes), name


def test_other_ops_work_on_elements() -> None:
    assert cost("aten.add.Tensor", (4, 8), (4, 8), out=(4, 8)) == Cost(32, 3 * 32 * 2, False, 2)
    assert cost("aten.sum.dim_IntList", (4, 8), out=(4,), dtype="float32") == Cost(32, 36 * 4, False, 4)


def test_of_a_table_the_rows_count_that_are_read() -> None:
    found = cost("aten.embedding.default", (1000, 8), (4,), out=(4, 8), dtype="float32")
    assert found is not None and found.nbytes == (4 * 8 + 4 + 4 * 8) * 4


def test_of_experts_those_count_that_have_a_row() -> None:
    few = cost("aten._grouped_mm.default", (2, 8), (64, 8, 16), out=(2, 16))
    all_of_them = cost("aten._grouped_mm.default", (128, 8), (64, 8, 16), out=(128, 16))
    assert few is not None and few.nbytes == (2 * 8 + 2 * 8 * 16 + 2 * 16) * 2
    assert all_of_them is not None and all_of_them.nbytes == (128 * 8 + 64 * 8 * 16 + 128 * 16) * 2


def test_an_expanded_dim_lies_in_memory_once() -> None:
    trace = one_op("aten.add.Tensor", (4, 8), (4, 8), out=(4, 8))
    values = (replace(trace.values[0], stride=(0, 1)), *trace.values[1:])
    found = cost_of(trace.ops[0], replace(trace, values=values))
    assert found is not None and found.nbytes == (8 + 32 + 32) * 2


@pytest.mark.parametrize("target", ["streamsched.leaf.default", "higher_order.cond"])
def test_what_shapes_do_not_tell(target: str) -> None:
    assert cost(target, (4, 8), out=(4, 8)) is None


def test_unknown_sizes() -> None:
    trace = one_op("aten.mm.default", (4, 8), (8, 16), out=(4, 16))
    for size in ("batch", -1):
        values = (replace(trace.values[0], shape=(size, 8)), *trace.values[1:])
        assert cost_of(trace.ops[0], replace(trace, values=values)) is None


def test_operands_in_a_list_count() -> None:
    trace = one_op("aten.cat.default", (4, 8), (4, 8), out=(8, 8))
    op = replace(trace.ops[0], args=(Sequence("list", (Ref(0), Ref(1))),))
    assert cost_of(op, trace) == Cost(64, 128 * 2, False, 2)
