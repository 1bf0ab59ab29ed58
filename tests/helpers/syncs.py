"""The sync lines of a generated forward, each with its steps of the program, and what taking one out means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from streamsched.dsl.check.registry import check
from streamsched.dsl.diagnostic import Severity
from streamsched.dsl.program.clocks import clocks
from streamsched.dsl.program.edit import without
from streamsched.dsl.program.steps import DEFAULT, Program, Step, StepKind
from streamsched.dsl.program.via import is_implicit

SYNC = re.compile(r"^ +\w+\.(record|wait|record_stream)\(.*\)$")
KINDS = {"record": StepKind.RECORD, "wait": StepKind.WAIT, "record_stream": StepKind.RECORD_STREAM}

ORDER_ONLY = {"ORD103"}
"""What is found where nothing but a declared edge is lost."""

REUSE = {"MEM101", "MEM103"}
"""What is found where nothing but the reuse of a block is at stake."""


@dataclass(frozen=True)
class Sync:
    """One line of a generated file, and the step of the program that it spells."""

    line: int  # from 0
    text: str
    step: int


def syncs(text: str, program: Program) -> list[Sync]:
    """All sync lines of a generated forward: the emitter writes one line for each step, in the order of the steps.

    What collectives do by themselves has no line.
    """
    steps = [i for i, step in enumerate(program.steps) if step.kind in KINDS.values() and not is_implicit(step)]
    lines = [(number, line) for number, line in enumerate(text.splitlines()) if SYNC.match(line)]
    found = [Sync(number, line.strip(), step) for (number, line), step in zip(lines, steps, strict=True)]
    for sync in found:
        match = SYNC.match(f" {sync.text}")
        assert match and KINDS[match[1]] is program.steps[sync.step].kind, sync
    return found


def text_without(text: str, sync: Sync) -> str:
    """The file without one line; a block that it leaves empty gets a `pass`."""
    lines = text.splitlines()
    indent = lines[sync.line][: len(lines[sync.line]) - len(sync.text)]
    lines[sync.line] = f"{indent}pass"
    return "\n".join(lines) + "\n"


def program_without(program: Program, sync: Sync) -> Program:
    """The program without one sync. Without its record a wait does nothing, so that it goes too."""
    gone = [sync.step]
    if program.steps[sync.step].kind is StepKind.RECORD:
        event = program.steps[sync.step].event
        gone += [i for i, step in enumerate(program.steps) if step.kind is StepKind.WAIT and step.event == event]
    for step in sorted(gone, reverse=True):
        program = without(program, step)
    return program


def with_inserted(program: Program) -> Program:
    """The program with the fork and the join that npugraph_ex inserts by itself.

    The fork is a record right after entry, waited for by each side stream; the join a record on each side stream,
    waited for right before exit.
    """
    sides = sorted({step.stream for step in program.steps if step.runs and step.stream != DEFAULT})
    event = len(program.events)
    fork = [_sync(StepKind.RECORD, DEFAULT, event), *(_sync(StepKind.WAIT, side, event) for side in sides)]
    joins = [_sync(StepKind.RECORD, side, event + 1 + number) for number, side in enumerate(sides)]
    joins += [_sync(StepKind.WAIT, DEFAULT, event + 1 + number) for number in range(len(sides))]
    last = len(program.steps) - 1

    def moved(index: int) -> int:
        return index + (len(fork) if index > 0 else 0) + (len(joins) if index == last else 0)

    steps = (program.steps[0], *fork, *program.steps[1:last], *joins, program.steps[last])
    required = tuple(
        replace(order, before=tuple(map(moved, order.before)), after=tuple(map(moved, order.after)))
        for order in program.required
    )
    events = (*program.events, "fork", *(f"join{number}" for number in range(len(sides))))
    return replace(
        program,
        steps=tuple(replace(step, reasons=()) for step in steps),
        required=required,
        events=events,
    )


def _sync(kind: StepKind, stream: int, event: int) -> Step:
    return Step(kind, stream, "inserted", event=event)


def codes(program: Program) -> set[str]:
    """The codes of the errors that the check finds."""
    return {found.code for found in check(program) if found.severity is Severity.ERROR}


def freed_early(program: Program) -> int:
    """How many blocks are freed before their home stream has waited for a use elsewhere, without a `record_stream`.

    They are safe by a wait that comes before the block can be used again. torch_npu's sanitizer looks no further than
    the free, and reports them.
    """
    order = clocks(program)
    recorded = {step.storage for step in program.steps if step.kind is StepKind.RECORD_STREAM}
    found = 0
    for index, step in enumerate(program.steps):
        if step.kind is StepKind.FREE and step.storage not in recorded:
            uses = [
                use
                for use, other in enumerate(program.steps[:index])
                if other.runs and other.stream != step.stream and step.storage in (*other.reads, *other.writes)
            ]
            found += not all(order.before(use, index) for use in uses)
    return found


def doubled(program: Program) -> list[str]:
    """The waits of the plan that are not needed beside npugraph_ex's own fork and join."""
    return list(_doubled(program))


def _doubled(program: Program) -> Iterator[str]:
    for index, step in enumerate(program.steps):
        if step.kind is StepKind.WAIT and not codes(with_inserted(without(program, index))):
            yield f"{program.streams[step.stream].name} wait {program.events[step.event]}"
