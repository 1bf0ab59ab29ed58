"""Ops whose operands have different dtypes where they must have one: the meta device lets them pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.trace import dtype_rules
from streamsched.dsl.trace.model import Op, Ref, Value
from streamsched.dsl.trace.tracing.loader import Session
from streamsched.dsl.trace.tracing.places import at_stack
from streamsched.dsl.trace.tracing.provenance.recorder import Recorder

_OPERANDS = {
    "linear": 3, "mm": 2, "bmm": 2, "matmul": 2, "mv": 2, "dot": 2, "addmm": 3, "addmv": 3, "baddbmm": 3,
    "addbmm": 3, "conv1d": 3, "conv2d": 3, "conv3d": 3, "conv_transpose1d": 3, "conv_transpose2d": 3,
    "conv_transpose3d": 3, "convolution": 3,
}  # fmt: skip
"""By op of aten: how many of its first arguments must have one dtype. Attention looks itself, on meta too."""


def mixed_dtypes(
    session: Session, recorder: Recorder, ops: Iterable[Op], values: Sequence[Value]
) -> Iterator[Diagnostic]:
    """A warning for each place that gives an op operands of several dtypes; none where autocast casts."""
    if session.regions.enabled:
        return
    told = set()
    for op in ops:
        mixed = _mixed(op, values)
        if not mixed:
            continue
        related = at_stack(session, recorder, op.stack, "called here")
        if related and related in told:
            continue
        told.add(related)
        given = " and ".join(f"`{_name(value)}` of {value.dtype}" for value in mixed)
        message = f"`{op.target.rsplit('.', 1)[0]}` is given {given}, and wants one dtype"
        yield dtype_rules.mixed_dtypes(session.request.inputs_span or session.request.model_span, message, related)


def _mixed(op: Op, values: Sequence[Value]) -> list[Value]:
    """The first operand of each dtype, where there are several and there must be one."""
    namespace, name, *_ = op.target.split(".")
    count = _OPERANDS.get(name, 0) if namespace == "aten" else 0
    by_dtype: dict[str, Value] = {}
    for argument in op.args[:count]:
        if isinstance(argument, Ref):
            by_dtype.setdefault(values[argument.value].dtype, values[argument.value])
    return list(by_dtype.values()) if len(by_dtype) > 1 else []


def _name(value: Value) -> str:
    return value.expression or value.local or value.inner or value.name
