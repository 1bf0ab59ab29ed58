"""Collectives in a plan: the streams of their process groups, where they begin and where they are waited for.

A collective is issued from the stream that it is placed on, and runs on a stream of its group, behind all that was
issued there before. What it makes and what it works on is settled for others only where something waits for it: that
place stands for its end. The collective and its wait do this sync themselves; nobody prints it.

Other ops communicate, too: those that the schedule declares, and torch_npu's that fuse it with other work. Their group
is not known. They run where they are placed, and are complete when the stream is behind them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from streamsched.dsl.devices.cores import COLLECTIVES, op_name
from streamsched.dsl.plan.dependence import Dependency
from streamsched.dsl.plan.order import Precedence
from streamsched.dsl.plan.resolve import Resolved
from streamsched.dsl.program.said import said_of
from streamsched.dsl.program.steps import Stream
from streamsched.dsl.trace.collectives import group_of, groups_of, waits_of
from streamsched.dsl.trace.model import NONE, OpKind, Trace


@dataclass(frozen=True)
class Collectives:
    """The collectives of a trace. `streams` are by storage of a group, behind those of the schedule; `groups` are
    by collective the storage of its group, and `waits` the ops that wait for it. `ungrouped` are the ops that
    communicate in a group that is not known, and `unknown` the storage that stands for it, behind the trace's.
    """

    streams: dict[int, int]
    groups: dict[int, int]
    waits: dict[int, tuple[int, ...]]
    ungrouped: frozenset[int]
    unknown: int

    def begins(self, op: int) -> bool:
        """Whether an op communicates."""
        return op in self.groups or op in self.ungrouped

    def ends(self, op: int) -> tuple[int, ...]:
        """The ops that stand for the end of a collective."""
        return (op,) if op in self.ungrouped else self.waits[op]

    def stream(self, op: int, issuer: int) -> int:
        """The stream that an op runs on which is issued from the stream `issuer`."""
        return self.streams[self.groups[op]] if op in self.groups else issuer

    def awaited(self) -> dict[int, tuple[int, ...]]:
        """By op: the collectives that it waits for."""
        found: dict[int, tuple[int, ...]] = {}
        for collective, waits in self.waits.items():
            for wait in waits:
                found[wait] = (*found.get(wait, ()), collective)
        return found


def collectives_of(trace: Trace, streams: int, resolved: Resolved) -> Collectives:
    """The collectives of `trace`, under a schedule with so many streams."""
    groups = {index: group_of(op, trace) for index, op in enumerate(trace.ops)} if groups_of(trace) else {}
    return Collectives(
        {storage: streams + number for number, storage in enumerate(groups_of(trace))},
        {op: storage for op, storage in groups.items() if storage != NONE},
        waits_of(trace) if groups else {},
        _ungrouped(trace, resolved, {op for op, storage in groups.items() if storage != NONE}),
        len(trace.storages),
    )


def _ungrouped(trace: Trace, resolved: Resolved, grouped: set[int]) -> frozenset[int]:
    """The ops that communicate in a group that is not known: torch_npu's, and those that the schedule declares."""
    targets = {op.target for op in trace.ops}
    known = {target for target in targets if op_name(target) in COLLECTIVES}
    if not known and not resolved.holdings:
        return frozenset()
    begins = grouped | {op for op in resolved.nodes if trace.ops[op].target in known}
    members = {op: resolved.members.get(op, ()) for op in resolved.nodes if trace.ops[op].kind is OpKind.KERNEL}
    said = said_of(members, resolved.holdings, begins, lambda op: trace.ops[op].target)
    return frozenset({*begins, *(op for op, holding in said.items() if holding.collective)} - grouped)


def group_streams(trace: Trace) -> tuple[Stream, ...]:
    """The streams of the process groups; nobody makes or enters them."""
    return tuple(Stream(trace.storages[storage].name, of_group=True) for storage in groups_of(trace))


def ended(precedences: Iterable[Precedence], collectives: Collectives) -> tuple[Precedence, ...]:
    """The declared orders, where each collective that must complete first is waited for first."""

    def before(precedence: Precedence) -> tuple[int, ...]:
        waits = [wait for op in precedence.before for wait in collectives.waits.get(op, ())]
        more = set(waits).difference(precedence.before, precedence.after)
        return (*precedence.before, *sorted(more))

    return tuple(
        replace(precedence, before=before(precedence)) if precedence.syncs else precedence for precedence in precedences
    )


def settled(demanded: Iterable[Dependency], collectives: Collectives) -> list[Dependency]:
    """The dependencies, where whoever must follow a collective follows those who wait for it.

    Those on the group itself stay: its stream keeps their order.
    """
    found: list[Dependency] = []
    for dependency in demanded:
        waits = collectives.waits.get(dependency.before, ())
        if dependency.storage in collectives.streams or dependency.after in waits:
            found.append(dependency)
        else:
            found += [dependency._replace(before=wait) for wait in waits] or [dependency]
    return found


def turns(trace: Trace, resolved: Resolved, collectives: Collectives) -> Sequence[int]:
    """The ops in the order in which they are issued where nothing else decides: program order, but a wait as late as
    it can be: right before the first op that needs the result, or that begins another collective on another stream
    or in another group, which could get ahead of this one.
    """
    order: Sequence[int] = range(len(trace.ops))
    if not collectives.groups:
        return order
    place = {wait: _late(wait, op, trace, resolved, collectives) for op, w in collectives.waits.items() for wait in w}
    return sorted(order, key=lambda op: (place[op], 0) if op in place else (op, 1))


def _late(wait: int, collective: int, trace: Trace, resolved: Resolved, collectives: Collectives) -> int:
    """The first op behind a wait that it must precede; past the end if none does."""
    made = frozenset(trace.ops[wait].writes)

    def kind(op: int) -> tuple[int, int]:
        return collectives.groups.get(op, NONE), resolved.streams[op]

    for index in range(wait + 1, len(trace.ops)):
        op = trace.ops[index]
        if op.kind is not OpKind.VIEW and not made.isdisjoint((*op.reads, *op.writes)):
            return index
        if collectives.begins(index) and kind(index) != kind(collective):
            return index
    return len(trace.ops)


def neighbours(issued: Iterable[int], streams: Sequence[int], collectives: Collectives) -> list[tuple[int, int]]:
    """The consecutive collectives in issue order that no stream orders, with that the first ends in time.

    The pairs are (the end of the one, the other).
    """
    place = {op: number for number, op in enumerate(issued)}
    begun = [op for op in place if collectives.begins(op)]
    found: list[tuple[int, int]] = []
    for first, second in pairwise(begun):
        groups = [collectives.groups.get(op, NONE) for op in (first, second)]
        same = groups[0] == groups[1] and streams[first] == streams[second]
        ends = [end for end in collectives.ends(first) if place[end] < place[second]]
        if not same and ends:
            found.append((ends[-1], second))
    return found
