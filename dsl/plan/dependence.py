"""What the data demands: which op must follow which, and because of what storage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from streamsched.dsl.program.steps import Hazard
from streamsched.dsl.trace.model import Argument, Literal, Op, OpKind, Ref, Trace, refs


class Dependency(NamedTuple):
    """`after` must follow `before`, both ops of the trace, because both touch `storage`."""

    before: int
    after: int
    hazard: Hazard
    storage: int


def dependencies(trace: Trace) -> list[Dependency]:
    """The dependencies between the kernels and allocations of `trace`, ordered by `after`.

    Each access is held against the last write and, for a write, the reads since: what lies further back follows by
    transitivity. Their number grows with the number of accesses.
    """
    found: list[Dependency] = []
    writer: dict[int, int] = {}
    readers: dict[int, list[int]] = {}
    for index, op in enumerate(trace.ops):
        if op.kind is OpKind.VIEW:
            continue
        written = op.writes
        for storage in op.reads:
            if storage in writer:
                found.append(Dependency(writer[storage], index, Hazard.RAW, storage))
            if storage not in written:
                readers.setdefault(storage, []).append(index)
        for storage in written:
            since = readers.pop(storage, ())
            for reader in since:
                found.append(Dependency(reader, index, Hazard.WAR, storage))
            if storage in writer and not since and storage not in op.reads:
                found.append(Dependency(writer[storage], index, Hazard.WAW, storage))
            writer[storage] = index
    return found


def held_storages(trace: Trace) -> list[tuple[int, ...]]:
    """By op: the storages that its arguments name, read or not. The names must live until the op is issued."""
    storages = [value.storages for value in trace.values]
    return [tuple({s for value in _arguments(op) for s in storages[value]}) for op in trace.ops]


def name_dependencies(trace: Trace, held: Sequence[tuple[int, ...]]) -> list[tuple[int, int]]:
    """Pairs of ops: the second names a result of the first without reading it (`empty_like(x)` needs `x` bound)."""
    makers: dict[int, int] = {}
    pairs: list[tuple[int, int]] = []
    for index, op in enumerate(trace.ops):
        if op.kind is OpKind.VIEW:
            continue
        for storage in held[index]:
            if storage in makers and storage not in op.reads and storage not in op.writes:
                pairs.append((makers[storage], index))
        for storage in op.writes:
            makers.setdefault(storage, index)
    return pairs


def _arguments(op: Op) -> list[int]:
    """The values among an op's arguments."""
    found: list[int] = []
    for argument in op.args:
        _collect(argument, found)
    for _, argument in op.kwargs:
        _collect(argument, found)
    return found


def _collect(argument: Argument, found: list[int]) -> None:
    if type(argument) is Ref:
        found.append(argument.value)
    elif type(argument) is not Literal:
        found.extend(refs(argument))
