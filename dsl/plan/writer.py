"""The steps of a program, written rank by rank."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from streamsched.dsl.plan.implicit import Implicit
from streamsched.dsl.plan.lifetime import Life, Protection
from streamsched.dsl.plan.places import Locator
from streamsched.dsl.plan.resolve import Resolved
from streamsched.dsl.plan.settings import Settings
from streamsched.dsl.plan.sync import Sync
from streamsched.dsl.program.steps import Order, Program, Reason, Step, StepKind, Storage
from streamsched.dsl.trace.model import NONE, OpKind, StorageKind, Trace


@dataclass(frozen=True, slots=True)
class Issue:
    """The ops in issue order, between entry (rank 0) and exit (the last rank).

    A collective runs on the stream of its process group; `issuers` are the streams that are current where the ranks are
    issued, and `awaited` the ranks of the collectives that a rank waits for.
    """

    ops: tuple[int, ...]
    streams: tuple[int, ...]  # by rank
    rank: dict[int, int]  # by op
    issuers: tuple[int, ...]  # by rank
    awaited: dict[int, tuple[int, ...]]  # by rank


def output_storages(trace: Trace) -> list[int]:
    """The storages of the values that forward() returns, each once."""
    return list(dict.fromkeys(s for value in trace.outputs() for s in trace.values[value].storages))


@dataclass(frozen=True)
class Writer:
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
        events = self._events
        lifetimes = self._lifetimes(lifes, protection)
        place = self._places(events, lifetimes)

        def moved(ranks: tuple[int, ...]) -> tuple[int, ...]:
            return tuple([place[rank] for rank in ranks])

        return Program(
            settings.name,
            settings.target,
            settings.streams,
            self.storages,
            (*(name for _, name in events.values()), *self._implicit.event_names()),
            self.resolved.groups,
            tuple(self._steps(events, lifetimes, place)),
            tuple(replace(order, before=moved(order.before), after=moved(order.after)) for order in required),
            settings.span,
            settings.insert,
            settings.whole_graph,
            self.trace,
            settings.digest,
            settings.inside_graph,
            settings.device,
            settings.graphs,
            self.resolved.holdings,
        )

    @cached_property
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
    def _implicit(self) -> Implicit:
        """The sync that the collectives do by themselves."""
        issue = self.issue
        names = {rank: self.trace.ops[op].name for rank, op in enumerate(issue.ops, start=1)}
        return Implicit(issue.streams, issue.issuers, issue.awaited, names, len(self._events))

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
                streams[group].add(self.issue.issuers[rank])
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
            issued += len(self.sync.waits[rank]) + len(self._implicit.before(rank)) + (extra if rank == leave else 0)
            places.append(issued)
            issued += 1 + len(self._implicit.behind(rank)) + (rank in events) + (0 if rank == leave else extra)
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
        for rank, stream in enumerate(self.issue.issuers):
            for wait in self.sync.waits[rank]:
                event, name = events[wait.before]
                reasons = tuple(
                    Reason(place[need.before], place[rank], need.hazard, need.storage, need.order)
                    for need in wait.needs
                )
                steps.append(Step(StepKind.WAIT, stream, name, event=event, reasons=reasons))
            steps += self._implicit.before(rank)
            if rank == leave:
                steps += lifetimes.get(rank, ())
            assert len(steps) == place[rank]
            steps.append(self._running(rank, self.issue.streams[rank]))
            steps += self._implicit.behind(rank)
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
            return Step(StepKind.EXIT, stream, "exit", reads=tuple(output_storages(self.trace)))
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
            issued_on=NONE if stream == self.issue.issuers[rank] else self.issue.issuers[rank],
        )
