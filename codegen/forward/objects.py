"""The Python objects of a trace, who is given them, and the memory that they hold."""

from __future__ import annotations

from collections.abc import Iterator

from streamsched.dsl.trace.model import NONE, ModuleCall, Op, StorageKind, Trace, refs


def objects(trace: Trace) -> tuple[int, ...]:
    """For each value, the first value that is the same Python object: in-place results are their argument."""
    found: list[int] = []
    for index, value in enumerate(trace.values):
        same = value.same_object
        while same != NONE and same >= len(found):  # a value may stand before the object that it updates
            same = trace.values[same].same_object
        found.append(index if same == NONE else found[same])
    return tuple(found)


def owned(trace: Trace, value: int) -> tuple[int, ...]:
    """The storages of a value whose memory the forward itself holds: those that its ops allocate."""
    return tuple(i for i in trace.values[value].storages if trace.storages[i].kind is StorageKind.OP)


def op_refs(op: Op) -> Iterator[int]:
    """The values that an op is given, left to right."""
    for argument in (*op.args, *(argument for _, argument in op.kwargs)):
        yield from refs(argument)


def call_refs(call: ModuleCall) -> Iterator[int]:
    """The values that a module call is given, left to right."""
    for argument in (*call.args, *(argument for _, argument in call.kwargs)):
        yield from refs(argument)
