"""What an op costs by its shapes: floating point operations, and bytes that it moves.

The formulas are those of the operators as they are traced, where composites are kept: products count two operations for
each multiplication with its addition, any other op one for each element. Bytes are those of the operands and of the
results that are no views; of tables and of experts only the rows that can be touched.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import NamedTuple, TypeAlias

from streamsched.dsl.trace.collectives import WAIT, group_of
from streamsched.dsl.trace.model import COND, LEAF, NONE, Argument, Op, OpKind, Trace, Value, refs


class Cost(NamedTuple):
    """What an op costs. `product` tells that cube cores do it; `width` are the bytes of an element of its operands."""

    flops: float
    nbytes: float
    product: bool
    width: int


_WIDTHS = {
    **dict.fromkeys(("float64", "int64", "uint64", "complex64"), 8),
    **dict.fromkeys(("float32", "int32", "uint32"), 4),
    **dict.fromkeys(("float16", "bfloat16", "int16", "uint16"), 2),
    "complex128": 16,
}
"""The bytes of an element; 1 for the dtypes that are not here."""

_Tensors: TypeAlias = list[Value]


def _first(values: _Tensors, result: Value) -> float:
    return 2 * _count(result) * _dim(values[0], -1)


def _second(values: _Tensors, result: Value) -> float:
    return 2 * _count(result) * _dim(values[1], -1)


def _attention(values: _Tensors, _result: Value) -> float:
    query, key, value = values[:3]
    return 2 * _count(query) * _dim(key, -2) * (1 + _dim(value, -1) / max(_dim(query, -1), 1))


def _convolution(values: _Tensors, result: Value) -> float:
    return 2 * _count(result) * prod(map(int, values[1].shape[1:]))


def _transposed(values: _Tensors, _result: Value) -> float:
    return 2 * _count(values[0]) * prod(map(int, values[1].shape[1:]))


_PRODUCTS: dict[str, tuple[int, Callable[[_Tensors, Value], float]]] = {
    **dict.fromkeys(("mm", "bmm", "mv", "dot", "matmul", "linear", "_grouped_mm"), (2, _first)),
    **dict.fromkeys(("addmm", "baddbmm", "addmv"), (3, _second)),
    **dict.fromkeys(("conv1d", "conv2d", "conv3d", "convolution"), (2, _convolution)),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), (2, _transposed)),
    **dict.fromkeys(("npu_quant_matmul", "npu_grouped_matmul", "npu_weight_quant_batchmatmul"), (2, _first)),
    **dict.fromkeys(("scaled_dot_product_attention", "npu_fusion_attention"), (3, _attention)),
}
"""By the op's name: how many tensors the formula of a product needs, and the formula."""

_TABLES = frozenset({"embedding", "embedding_bag", "index", "index_select", "gather"})
"""What reads of its first tensor only the rows that the others name."""

_EXPERTS = frozenset({"_grouped_mm", "npu_grouped_matmul"})
"""What multiplies each row with one of the matrices in its second tensor."""


def cost_of(op: Op, trace: Trace) -> Cost | None:
    """What an op costs; None where its sizes are not known, or where it is no kernel that shapes tell about."""
    if op.kind is not OpKind.KERNEL or op.target in (LEAF, COND, WAIT) or group_of(op, trace) != NONE:
        return None
    given = [trace.values[value] for argument in _arguments(op) for value in refs(argument)]
    made = [trace.values[value] for value in refs(op.result)]
    if not made or any(isinstance(dim, str) or dim < 0 for value in (*given, *made) for dim in value.shape):
        return None
    name = op.target.split(".")[1]
    nbytes = sum(map(_bytes, {*given, *made})) - _untouched(name, given, made[0])
    tensors, formula = _PRODUCTS.get(name, (NONE, _first))
    if tensors == NONE:
        return Cost(max(map(_count, (*given, *made))), nbytes, False, _width(made[0]))
    if len(given) < tensors or not all(value.shape for value in given[:tensors]):
        return None
    return Cost(formula(given, made[0]), nbytes, True, _width(given[tensors - 1]))


def _arguments(op: Op) -> list[Argument]:
    return [*op.args, *(argument for _, argument in op.kwargs)]


def _untouched(name: str, given: _Tensors, result: Value) -> float:
    """The bytes of operands that are not read."""
    if name in _TABLES and given:
        return max(_bytes(given[0]) - _bytes(result), 0)
    if name in _EXPERTS and len(given) > 1 and len(given[1].shape) == 3:
        experts = _dim(given[1], 0)
        return _bytes(given[1]) * max(1 - _dim(given[0], 0) / max(experts, 1), 0)
    return 0


def _dim(value: Value, index: int) -> int:
    return int(value.shape[index]) if len(value.shape) >= max(-index, index + 1) else 1


def _count(value: Value) -> int:
    return prod(map(int, value.shape))


def _bytes(value: Value) -> int:
    """The bytes of a tensor that lie in memory: an expanded dim takes none."""
    strides = value.stride if len(value.stride) == len(value.shape) else (1,) * len(value.shape)
    stored = (int(dim) for dim, stride in zip(value.shape, strides, strict=True) if stride != 0 or dim == 0)
    return prod(stored) * _width(value)


def _width(value: Value) -> int:
    return _WIDTHS.get(value.dtype, 1)
