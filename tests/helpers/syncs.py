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

NOT_NEEDED = "the plan does not need it"


@dataclass(frozen=True)
class Sync:
    """One line of a generated file, and the step of the program that it spells."""

    line: int  # from 0
    text: str
    step: int

    def words(self, program: Program) -> str:
        """The line, and the stream that it is for."""
        return f"{self.text} on {program.streams[program.steps[self.step].stream].name}"


def spelled_out(program: Program) -> list[int]:
    """The syncs that a generated forward spells out: what collectives do by themselves has no line."""
    return [n for n, step in enumerate(program.steps) if step.kind in KINDS.values() and not is_implicit(step)]


def syncs(text: str, program: Program) -> list[Sync]:
    """All sync lines of a generated forward: the emitter writes one line for each step, in the order of the steps."""
    steps = spelled_out(program)
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


def entered(program: Program) -> list[int]:
    """The side streams that a generated forward enters."""
    return sorted({step.issuer for step in program.steps if step.runs and step.issuer != DEFAULT})


def with_inserted(program: Program) -> Program:
    """The program with what npugraph_ex inserts by itself between its entry and its exit.

    The fork is a record right after entry, waited for by each side stream; the join a record on each side stream,
    waited for right before exit. Where the graph holds the forward among others, its fork comes before the entry of
    each and its join behind the exit of each, so that they order nothing in between.
    """
    if program.target != "npugraph_ex" or program.inside_graph:
        return program
    sides = entered(program)
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


def proved(program: Program, sync: Sync) -> tuple[str, str]:
    """The class that the program proves of taking out one sync, and how: d order only, e doubled, f reuse; else `?`."""
    thinned = program_without(program, sync)
    alone, left = codes(thinned), codes(with_inserted(thinned))
    if left and left <= ORDER_ONLY:
        return "d", "nothing but a declared edge asks for it"
    if alone and not left:
        return "e", f"inserted too ({' '.join(sorted(alone))} without that)"
    if left and left <= REUSE:
        return "f", f"{' '.join(sorted(left))}, and no launch in the log reuses the block unordered"
    return "?", " ".join(sorted(left)) or NOT_NEEDED


def times(program: Program) -> int:
    """How often a call of the model runs the generated forward: once for each module in scope."""
    assert program.trace is not None
    return len(program.trace.scope.instances) if program.trace.scope else 1


def freed_early(program: Program) -> int:
    """How many blocks are freed before their home stream has waited for a use elsewhere, without a `record_stream`.

    They are safe by a wait that comes before the block can be used again. torch_npu's sanitizer looks no further than
    the free, and reports them. Of the storages that one value may lie in it lies in one: they count as one block.
    """
    assert program.trace is not None
    order = clocks(program)
    recorded = {step.storage for step in program.steps if step.kind is StepKind.RECORD_STREAM}
    block = {storage: value.storages[-1] for value in program.trace.values for storage in value.storages}
    found = set()
    for index, step in enumerate(program.steps):
        if step.kind is StepKind.FREE and step.storage not in recorded:
            uses = [
                use
                for use, other in enumerate(program.steps[:index])
                if other.runs and other.stream != step.stream and step.storage in (*other.reads, *other.writes)
            ]
            if not all(order.before(use, index) for use in uses):
                found.add(block[step.storage])
    return len(found)


def doubled(program: Program) -> list[str]:
    """The waits of the plan that are not needed beside npugraph_ex's own fork and join."""
    return list(_doubled(program))


def _doubled(program: Program) -> Iterator[str]:
    for index in spelled_out(program):
        step = program.steps[index]
        if step.kind is StepKind.WAIT and not codes(with_inserted(without(program, index))):
            yield f"{program.streams[step.stream].name} wait {program.events[step.event]}"
