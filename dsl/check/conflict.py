"""Two accesses to one storage that nothing orders, in words."""

from __future__ import annotations

from streamsched.dsl.check.accesses import Race
from streamsched.dsl.check.describe import listed, name, on_stream, stream
from streamsched.dsl.check.facts import Facts
from streamsched.dsl.program.steps import Hazard, Program, StepKind
from streamsched.dsl.trace.model import NONE, StorageKind, refs


def conflict(program: Program, race: Race) -> str:
    """What the two steps do to each other, in plain words."""
    storage = program.storages[race.storage]
    first, second = on_stream(program, race.before), on_stream(program, race.after)
    if storage.kind is StorageKind.GENERATOR:
        return f"{second} and {first} draw from the same random generator"
    if storage.kind is StorageKind.HOST:
        return f"{second} and {first} both have effects that the host sees"
    if storage.kind is StorageKind.PROCESS_GROUP:
        return f"{second} and {first} are collectives of one process group"
    if race.hazard is Hazard.WAR:
        return f"{second} writes `{storage.name}` that {first} reads"
    makes = "allocates" if program.steps[race.before].kind is StepKind.ALLOC else "writes"
    if race.hazard is Hazard.RAW:
        return f"{second} reads `{storage.name}` that {first} {makes}"
    also = makes if makes == "allocates" else "also writes"
    return f"{second} writes `{storage.name}` that {first} {also}"


_WHY = {
    Hazard.RAW: "may read it before it is written",
    Hazard.WAR: "may overwrite it while it is still read",
    Hazard.WAW: "may write it first, and lose",
}


def notes(facts: Facts, races: tuple[Race, ...]) -> tuple[str, ...]:
    """Why the missing wait matters, which way to the storage is not plain to see, and what is missing."""
    program, first = facts.program, races[0]
    found = [_why(program, first)]
    views = _views(program, first)
    if views:
        found.append(f"{name(program, first.after)} sees `{program.storages[first.storage].name}` as {listed(views)}")
    found.append(_missing_path(facts, first))
    others = [f"`{program.storages[race.storage].name}` ({race.hazard.value})" for race in races[1:]]
    if others:
        found.append(f"the same wait is missing for {listed(others)}")
    return tuple(found)


def _why(program: Program, race: Race) -> str:
    if not program.storages[race.storage].kind.is_memory:
        return "they keep program order, so that the schedule changes no number"
    before = program.steps[race.before]
    if before.kind is StepKind.ALLOC:
        return f"until it is allocated, its memory may be in use on {stream(program, before.stream)} by another"
    return f"without an order {name(program, race.after)} {_WHY[race.hazard]}"


def _missing_path(facts: Facts, race: Race) -> str:
    """The wait that is missing, and how far the waits that are there reach."""
    program = facts.program
    waiting = program.steps[race.after].stream
    awaited = program.steps[race.before].stream
    seen = facts.clocks.seen[race.after][awaited]
    path = f"missing: {on_stream(program, race.before)} -> {on_stream(program, race.after)}"
    if seen == 0:
        return f"{path}; {stream(program, waiting)} has not waited for {stream(program, awaited)} at all"
    known = name(program, facts.by_stream[awaited][seen - 1])
    return f"{path}; {stream(program, waiting)} has waited for {stream(program, awaited)} only up to {known}"


def _views(program: Program, race: Race) -> list[str]:
    """The names by which the later op knows the storage, where it does not know it by its own."""
    op = program.steps[race.after].op
    if program.trace is None or op == NONE:
        return []
    trace = program.trace
    arguments = trace.ops[op].args + tuple(argument for _, argument in trace.ops[op].kwargs)
    values = [trace.values[number] for argument in arguments for number in refs(argument)]
    names = [
        value.expression or value.local or value.inner or value.name
        for value in values
        if race.storage in value.storages
    ]
    own = program.storages[race.storage].name
    return [] if own in names else [f"`{known}`" for known in dict.fromkeys(names)]
