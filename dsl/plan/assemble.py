"""The program, put together from what the planner has decided."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from streamsched.dsl.plan.dependence import Dependency
from streamsched.dsl.plan.lifetime import Life, Protection, lives, protect
from streamsched.dsl.plan.places import Locator
from streamsched.dsl.plan.resolve import Resolved
from streamsched.dsl.plan.settings import Settings
from streamsched.dsl.plan.sync import Need, Sync, entry_and_exit, minimal_sync, order_needs
from streamsched.dsl.program.steps import (
    DEFAULT,
    Hazard,
    Order,
    OrderKind,
    Program,
    Reason,
    Step,
    StepKind,
    Storage,
)
from streamsched.dsl.trace.model import NONE, OpKind, StorageKind, Trace, Value


@dataclass(frozen=True, slots=True)
class Issue:
    """The ops in issue order, between entry (rank 0) and exit (the last rank)."""

    ops: tuple[int, ...]
    streams: tuple[int, ...]  # by rank
    rank: dict[int, int]  # by op


def assemble(
    settings: Settings,
    resolved: Resolved,
    trace: Trace,
    locator: Locator,
    issued: Sequence[int],
    demanded: Sequence[Dependency],
    held: Sequence[tuple[int, ...]],
) -> Program:
    """The program that issues the ops in the order `issued`, with minimal sync and every lifetime protected."""
    issue = Issue(
        tuple(issued),
        (DEFAULT, *(resolved.streams[op] for op in issued), DEFAULT),
        {op: rank for rank, op in enumerate(issued, start=1)},
    )
    required = _required(resolved, issue, settings)
    needs = _needs(required, issue, demanded if settings.sync == "auto" else (), trace)
    storages = _storages(trace, issue)
    touched = _touches(trace, issue, held)
    homes = {i: s.home for i, s in enumerate(storages) if s.kind is StorageKind.OP}
    kept = frozenset(i for i, storage in enumerate(storages) if storage.output)
    lifes = lives(touched, homes, issue.streams, kept)
    sync = minimal_sync(issue.streams, len(settings.streams), needs)
    protection = protect(lifes, sync, settings.memory, settings.whole_graph)
    if protection.joins:
        for rank, need in protection.joins:
            needs[rank].append(need)
        sync = minimal_sync(issue.streams, len(settings.streams), needs)
    writer = _Writer(resolved, trace, locator, issue, sync, storages)
    return writer.program(settings, required, lifes, protection)


def _required(resolved: Resolved, issue: Issue, settings: Settings) -> list[Order]:
    """The required order, in ranks."""
    orders = [
        Order(
            OrderKind.EDGE,
            precedence.label,
            tuple(sorted(issue.rank[op] for op in precedence.before)),
            tuple(sorted(issue.rank[op] for op in precedence.after)),
            precedence.span,
        )
        for precedence in resolved.precedences
        if precedence.syncs
    ]
    forks, joins = entry_and_exit(issue.streams)
    orders += [_implied(OrderKind.ENTRY, pair, pair[1], issue, settings) for pair in forks]
    orders += [_implied(OrderKind.EXIT, pair, pair[0], issue, settings) for pair in joins]
    return orders


def _implied(kind: OrderKind, pair: tuple[int, int], side: int, issue: Issue, settings: Settings) -> Order:
    stream = settings.streams[issue.streams[side]]
    return Order(kind, kind.value, pair[:1], pair[1:], stream.span)


def _needs(required: Sequence[Order], issue: Issue, demanded: Sequence[Dependency], trace: Trace) -> list[list[Need]]:
    """What each rank must follow on another stream."""
    needs: list[list[Need]] = [[] for _ in issue.streams]
    for number, order in enumerate(required):
        for rank, need in order_needs(number, order.before, order.after, issue.streams):
            needs[rank].append(need)
    for dependency in demanded:
        before, after = issue.rank[dependency.before], issue.rank[dependency.after]
        if issue.streams[before] != issue.streams[after]:
            needs[after].append(Need(before, dependency.hazard, dependency.storage))
    if demanded:
        last: dict[int, int] = {}
        for rank, op in enumerate(issue.ops, start=1):
            last.update(dict.fromkeys(trace.ops[op].writes, rank))
        for storage in _outputs(trace):
            if storage in last and issue.streams[last[storage]] != DEFAULT:
                needs[-1].append(Need(last[storage], Hazard.RAW, storage))
    return needs


def _outputs(trace: Trace) -> list[int]:
    """The storages of the values that forward() returns, each once."""
    return list(dict.fromkeys(s for value in trace.outputs() for s in trace.values[value].storages))


def _storages(trace: Trace, issue: Issue) -> tuple[Storage, ...]:
    """The program's storages, with the stream that each was allocated on."""
    outputs = frozenset(_outputs(trace))
    home: dict[int, int] = {}
    for rank, op in enumerate(issue.ops, start=1):
        for storage in trace.ops[op].writes:
            home.setdefault(storage, issue.streams[rank])
    names = _storage_names(trace)
    return tuple(
        Storage(
            names.get(index, storage.name),
            storage.kind,
            storage.nbytes,
            home.get(index, DEFAULT) if storage.kind is StorageKind.OP else DEFAULT,
            index in outputs,
        )
        for index, storage in enumerate(trace.storages)
    )


def _storage_names(trace: Trace) -> dict[int, str]:
    """What people call each storage: its first value's expression or local; without any, an inner name or the op's.

    A value that only may lie in a storage (alias or copy) lends its name to its own, the last.
    """
    found: dict[int, str] = {}
    for name_of in (_outer_name, _inner_name):
        for value in trace.values:
            if name := name_of(value):
                found.setdefault(value.storages[-1], name)
    return found


def _outer_name(value: Value) -> str:
    return value.expression or value.local


def _inner_name(value: Value) -> str:
    return value.inner or value.name


def _touches(trace: Trace, issue: Issue, held: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """By rank: the storages that must live until it is issued."""
    touched: list[tuple[int, ...]] = [()]
    for op in issue.ops:
        node = trace.ops[op]
        touched.append((*node.reads, *node.writes, *held[op]))
    return [*touched, ()]


@dataclass(frozen=True)
class _Writer:
    """Writes the steps of a program, rank by rank."""

    resolved: Resolved
    trace: Trace
    locator: Locator
    issue: Issue
    sync: Sync
    storages: tuple[Storage, ...]

    def program(
        self, settings: Settings, required: Sequence[Order], lifes: Sequence[Life], protection: Protection
    ) -> Program:
        """The whole program."""
        events = self._events()
        lifetimes = self._lifetimes(lifes, protection)
        place = self._places(events, lifetimes)

        def moved(ranks: tuple[int, ...]) -> tuple[int, ...]:
            return tuple([place[rank] for rank in ranks])

        return Program(
            settings.name,
            settings.target,
            settings.streams,
            self.storages,
            tuple(name for _, name in events.values()),
            self.resolved.groups,
            tuple(self._steps(events, lifetimes, place)),
            tuple(replace(order, before=moved(order.before), after=moved(order.after)) for order in required),
            settings.span,
            settings.insert,
            settings.whole_graph,
            self.trace,
            settings.digest,
        )

    def _events(self) -> dict[int, tuple[int, str]]:
        """The event of each rank that is waited for, with its name, numbered in issue order."""
        used: dict[str, int] = {}
        found: dict[int, tuple[int, str]] = {}
        for rank in sorted({wait.before for waits in self.sync.waits for wait in waits}):
            name = f"{self._label(rank)}_done" if rank else "inputs_ready"
            used[name] = used.get(name, 0) + 1
            found[rank] = (len(found), name if used[name] == 1 else f"{name}_{used[name]}")
        return found

    @cached_property
    def _completes(self) -> dict[int, str]:
        """By rank: the named group, on one stream, whose last kernel it is; the smallest one of several."""
        sizes: dict[int, int] = defaultdict(int)
        last: dict[int, int] = {}
        streams: dict[int, set[int]] = defaultdict(set)
        for rank, op in enumerate(self.issue.ops, start=1):
            for group in self.resolved.members.get(op, ()):
                last[group] = rank
                sizes[group] += 1
                streams[group].add(self.issue.streams[rank])
        groups = self.resolved.groups
        named = [g for g in last if groups[g].name.isidentifier() and len(streams[g]) == 1]
        return {last[group]: groups[group].name for group in sorted(named, key=lambda g: (-sizes[g], g))}

    def _label(self, rank: int) -> str:
        """What people call what a rank completes: a named group, else what it writes, else the op."""
        if rank in self._completes:
            return self._completes[rank]
        op = self.trace.ops[self.issue.ops[rank - 1]]
        written = (self.storages[i] for i in op.writes if self.storages[i].kind.is_memory)
        return next((s.name for s in written if s.name.isidentifier()), op.name)

    def _lifetimes(self, lifes: Sequence[Life], protection: Protection) -> dict[int, list[Step]]:
        """By rank: the record_streams and frees that go with it (before exit, behind any other rank)."""
        found: dict[int, list[Step]] = defaultdict(list)
        for rank, stream, storage in protection.record_streams:
            found[rank].append(Step(StepKind.RECORD_STREAM, stream, self.storages[storage].name, storage=storage))
        for life in lifes:
            if life.free != NONE:
                name = self.storages[life.storage].name
                found[life.free].append(Step(StepKind.FREE, life.home, name, storage=life.storage))
        return found

    def _places(self, events: Mapping[int, tuple[int, str]], lifetimes: Mapping[int, list[Step]]) -> list[int]:
        """The place of each rank among the steps."""
        leave = len(self.issue.streams) - 1
        places: list[int] = []
        issued = 0
        for rank in range(leave + 1):
            extra = len(lifetimes.get(rank, ()))
            issued += len(self.sync.waits[rank]) + (extra if rank == leave else 0)
            places.append(issued)
            issued += 1 + (rank in events) + (0 if rank == leave else extra)
        return places

    def _steps(
        self,
        events: Mapping[int, tuple[int, str]],
        lifetimes: Mapping[int, list[Step]],
        place: Sequence[int],
    ) -> list[Step]:
        """All steps in issue order."""
        leave = len(self.issue.streams) - 1
        steps: list[Step] = []
        for rank, stream in enumerate(self.issue.streams):
            for wait in self.sync.waits[rank]:
                event, name = events[wait.before]
                reasons = tuple(
                    Reason(place[need.before], place[rank], need.hazard, need.storage, need.order)
                    for need in wait.needs
                )
                steps.append(Step(StepKind.WAIT, stream, name, event=event, reasons=reasons))
            if rank == leave:
                steps += lifetimes.get(rank, ())
            assert len(steps) == place[rank]
            steps.append(self._running(rank, stream))
            if rank in events:
                event, name = events[rank]
                steps.append(Step(StepKind.RECORD, stream, name, event=event))
            if rank != leave:
                steps += lifetimes.get(rank, ())
        return steps

    def _running(self, rank: int, stream: int) -> Step:
        """The step of a rank itself."""
        if rank == 0:
            inputs = tuple(i for i, storage in enumerate(self.storages) if storage.kind is StorageKind.INPUT)
            return Step(StepKind.ENTRY, stream, "entry", writes=inputs)
        if rank == len(self.issue.streams) - 1:
            return Step(StepKind.EXIT, stream, "exit", reads=tuple(_outputs(self.trace)))
        index = self.issue.ops[rank - 1]
        op = self.trace.ops[index]
        allocates = op.kind is OpKind.ALLOCATE
        return Step(
            StepKind.ALLOC if allocates else StepKind.LAUNCH,
            stream,
            op.name,
            op.reads,
            op.writes,
            storage=op.writes[0] if allocates else NONE,
            op=index,
            groups=self.resolved.members.get(index, ()),
            selector=self.resolved.index.unique_selector(index),
            source=self.locator.source(index),
        )
