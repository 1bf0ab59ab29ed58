"""The program, put together from what the planner has decided: required order, sync, lifetimes."""

from __future__ import annotations

from collections.abc import Sequence

from streamsched.dsl.plan.collectives import Collectives, neighbours
from streamsched.dsl.plan.dependence import Dependency
from streamsched.dsl.plan.lifetime import lives, protect
from streamsched.dsl.plan.places import Locator
from streamsched.dsl.plan.resolve import Resolved
from streamsched.dsl.plan.settings import Settings
from streamsched.dsl.plan.sync import Implied, Need, entry_and_exit, minimal_sync, order_needs
from streamsched.dsl.plan.writer import Issue, Writer, output_storages
from streamsched.dsl.program.steps import (
    DEFAULT,
    Hazard,
    Order,
    OrderKind,
    Program,
    Storage,
)
from streamsched.dsl.trace.model import StorageKind, Trace, Value


def assemble(
    settings: Settings,
    resolved: Resolved,
    trace: Trace,
    locator: Locator,
    collectives: Collectives,
    issued: Sequence[int],
    demanded: Sequence[Dependency],
    held: Sequence[tuple[int, ...]],
) -> Program:
    """The program that issues the ops in the order `issued`, with minimal sync and every lifetime protected."""
    issue = _issue(resolved, collectives, issued)
    required = _required(resolved, issue, settings)
    needs = _needs(required, issue, demanded if settings.sync == "auto" else (), trace)
    if collectives.groups or collectives.ungrouped:
        _tell_collectives(needs, issue, resolved, collectives, settings.sync == "auto")
    implied = Implied(issue.issuers, issue.awaited)
    storages = _storages(trace, issue)
    if collectives.ungrouped:
        storages = (*storages, Storage("process group", StorageKind.PROCESS_GROUP))
    uses = [(), *((*trace.ops[op].reads, *trace.ops[op].writes) for op in issue.ops), ()]
    names = [(), *(held[op] for op in issue.ops), ()]
    freed = (StorageKind.OP, StorageKind.INPUT) if settings.scoped else (StorageKind.OP,)
    homes = {i: s.home for i, s in enumerate(storages) if s.kind in freed}
    kept = frozenset(i for i, storage in enumerate(storages) if storage.output)
    lifes = lives(uses, names, homes, issue.issuers, kept)
    sync = minimal_sync(issue.streams, len(settings.streams), needs, implied)
    protection = protect(lifes, sync, settings.memory, settings.whole_graph)
    if protection.joins:
        for rank, need in protection.joins:
            needs[rank].append(need)
        sync = minimal_sync(issue.streams, len(settings.streams), needs, implied)
    writer = Writer(resolved, trace, locator, issue, sync, storages)
    return writer.program(settings, required, lifes, protection)


def _issue(resolved: Resolved, collectives: Collectives, issued: Sequence[int]) -> Issue:
    """The ops in issue order, with the streams that they run on and are issued from."""
    issuers = (DEFAULT, *(resolved.streams[op] for op in issued), DEFAULT)
    rank = {op: number for number, op in enumerate(issued, start=1)}
    running = (collectives.stream(op, issuer) for op, issuer in zip(issued, issuers[1:-1], strict=True))
    awaited = {rank[op]: tuple(rank[c] for c in found) for op, found in collectives.awaited().items()}
    return Issue(tuple(issued), (DEFAULT, *running, DEFAULT), rank, issuers, awaited)


def _tell_collectives(
    needs: list[list[Need]], issue: Issue, resolved: Resolved, collectives: Collectives, auto: bool
) -> None:
    """Leave out what only a process group's own stream could record: whoever waits for a collective stands for it.

    `sync auto` orders the collectives that may otherwise run at once, as different ranks may choose different orders.
    """
    begun = {issue.rank[op] for op in collectives.groups}
    for owner, wanted in enumerate(needs):
        needs[owner] = [need for need in wanted if need.before not in begun]
    for wait, op in neighbours(issue.ops, resolved.streams, collectives) if auto else ():
        group = collectives.groups.get(op, collectives.unknown)
        needs[issue.rank[op]].append(Need(issue.rank[wait], Hazard.WAW, group))


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
        if issue.streams[before] != issue.issuers[after]:
            needs[after].append(Need(before, dependency.hazard, dependency.storage))
    if demanded:
        last: dict[int, int] = {}
        for rank, op in enumerate(issue.ops, start=1):
            last.update(dict.fromkeys(trace.ops[op].writes, rank))
        for storage in output_storages(trace):
            if storage in last and issue.streams[last[storage]] != DEFAULT:
                needs[-1].append(Need(last[storage], Hazard.RAW, storage))
    return needs


def _storages(trace: Trace, issue: Issue) -> tuple[Storage, ...]:
    """The program's storages, with the stream that each was allocated on."""
    outputs = frozenset(output_storages(trace))
    home: dict[int, int] = {}
    for rank, op in enumerate(issue.ops, start=1):
        for storage in trace.ops[op].writes:
            home.setdefault(storage, issue.issuers[rank])
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
