"""A program with the waits that it lacks, so that what is wrong besides can be told without its consequences."""

from __future__ import annotations

from dataclasses import replace

from streamsched.dsl.check.facts import Facts
from streamsched.dsl.program.steps import Program, Step, StepKind

_MENDED = "mended"


def mended(facts: Facts) -> Program:
    """The program with a record and a wait for each missing wait. Programs with a required order are not taken."""
    program = facts.program
    assert not program.required, "the steps of a required order would have to be renumbered"
    events = list(program.events)
    records: dict[int, list[Step]] = {}
    waits: dict[int, list[Step]] = {}
    for races in facts.missing:
        before, after = races[0].before, races[0].after
        streams = program.steps[before].stream, program.steps[after].stream
        records.setdefault(before, []).append(Step(StepKind.RECORD, streams[0], _MENDED, event=len(events)))
        waits.setdefault(after, []).append(Step(StepKind.WAIT, streams[1], _MENDED, event=len(events)))
        events.append(_MENDED)
    steps: list[Step] = []
    for index, step in enumerate(program.steps):
        steps += (*waits.get(index, ()), step, *records.get(index, ()))
    return replace(program, events=tuple(events), steps=tuple(steps))
