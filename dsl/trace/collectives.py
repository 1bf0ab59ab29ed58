"""Collectives in a trace: which ops they are, whose group they are of, and what waits for them.

A functional collective (`torch.ops._c10d_functional.all_reduce`) only begins: it runs on a stream of its process
group's own, behind what was issued before it. `wait_tensor` lets the current stream wait until its result is there.
"""

from __future__ import annotations

from streamsched.dsl.trace.model import NONE, Op, StorageKind, Trace

WAIT = "_c10d_functional.wait_tensor.default"
"""The op that joins a collective into the current stream."""


def group_of(op: Op, trace: Trace) -> int:
    """The storage that stands for the process group of a collective; NONE for any other op."""
    groups = (s for s in op.writes if trace.storages[s].kind is StorageKind.PROCESS_GROUP)
    return next(groups, NONE)


def groups_of(trace: Trace) -> tuple[int, ...]:
    """The storages that stand for process groups."""
    kind = StorageKind.PROCESS_GROUP
    return tuple(index for index, storage in enumerate(trace.storages) if storage.kind is kind)


def waits_of(trace: Trace) -> dict[int, tuple[int, ...]]:
    """By collective: the ops that wait for its results, in program order; none for one that nothing waits for."""
    found: dict[int, tuple[int, ...]] = {}
    pending: dict[int, int] = {}
    for index, op in enumerate(trace.ops):
        if op.target == WAIT:
            for collective in {pending.pop(s) for s in op.writes if s in pending}:
                found[collective] = (*found[collective], index)
        elif group_of(op, trace) != NONE:
            found[index] = ()
            pending.update((s, index) for s in op.writes if trace.storages[s].kind.is_memory)
    return found
