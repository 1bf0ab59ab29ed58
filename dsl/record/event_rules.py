"""AUD, events: what a run of hand-written code tells of the objects that it records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from streamsched.dsl.diagnostic import Diagnostic, Related, Severity, Span
from streamsched.dsl.program.clocks import clocks
from streamsched.dsl.program.steps import Program, Step, StepKind
from streamsched.dsl.rule import rule
from streamsched.dsl.trace.model import NONE

if TYPE_CHECKING:
    from streamsched.dsl.record.device import Device
    from streamsched.dsl.record.recorder import Recorder


@rule("AUD105", "event-recorded-again", Severity.INFO)
def event_recorded_again(recorder: Recorder, program: Program) -> Iterator[Diagnostic]:
    """An event is recorded on two streams, or again while a wait for its last record may still be to come.

    That is legal outside of a graph: a wait means the last record that was issued before it. But moving a line then
    changes what is waited for, without a word, and the order of the lines is all that tells which record a wait means.
    Whoever asks the event itself, by `query()` or `synchronize()`, is told of the new record only. npugraph_ex is
    misled by any event that is recorded twice in a call: there it is the error `event-recorded-twice-in-graph`.

    An event that is recorded once in each call is silent where the waits of the last call are over by then.

    Example:

        e.record(); e.wait(side)
        e.record(); e.wait(other)

    Use instead an event for each record:

        first.record(); first.wait(side)
        second.record(); second.wait(other)
    """
    if recorder.device.per_call:
        return
    for again in _recorded_again(recorder.device, program):
        first, second = program.steps[again.first], program.steps[again.second]
        streams = [f"`{program.streams[step.stream].name}`" for step in (first, second)]
        parts = [(first, "recorded here first")]
        if again.wait == NONE:
            message = f"`{first.name}` is recorded on {streams[0]}, then on {streams[1]}"
        else:
            wait = program.steps[again.wait]
            waiting = f"`{program.streams[wait.stream].name}`"
            message = f"`{first.name}` is recorded again on {streams[1]}, before {waiting} has done its wait for it"
            parts.append((wait, "the wait"))
        if second.source is not None:
            yield event_recorded_again.diagnostic(
                second.source,
                message,
                related=tuple(Related(step.source, words) for step, words in parts if step.source is not None),
                notes=("a wait means the last record that was issued before it",),
                help=f"use an event of its own for each record: `{_api(program)}.Event()`",
            )


@rule("AUD106", "event-made-each-call", Severity.INFO)
def event_made_each_call(recorder: Recorder, program: Program) -> Iterator[Diagnostic]:
    """An event is made anew in each call of forward().

    That is right, and it costs the host some microseconds in each call, where the host is often what a decoding step
    waits for. An event can be recorded any number of times. Under npugraph_ex, which makes the events when it captures,
    nothing is said.

    Example:

        def forward(self, x):
            ready = torch.cuda.Event()
            ready.record()

    Use instead one event for the life of the module:

        def __init__(self):
            self.ready = torch.cuda.Event()

        def forward(self, x):
            self.ready.record()
    """
    made: dict[Span, set[int]] = {}
    names: dict[Span, str] = {}
    for signal in recorder.device.signals:
        if signal.made_in != NONE and signal.source is not None:
            made.setdefault(signal.source, set()).add(signal.made_in)
            names.setdefault(signal.source, signal.name)
    for source, calls in made.items():
        if not recorder.device.per_call and len(calls) > 1 and len(calls) > recorder.device.log.call:
            named = f"the event `{names[source]}`" if names[source] else "an event"
            yield event_made_each_call.diagnostic(
                source,
                f"{named} is made in each call",
                help=f"make it once, in `__init__`: `self.{names[source] or 'ready'} = {_api(program)}.Event()`",
            )


class _Again(NamedTuple):
    """Two records of one event, and a wait for the first that may still be to come; NONE where the streams differ."""

    first: int
    second: int
    wait: int


def _recorded_again(device: Device, program: Program) -> Iterator[_Again]:
    """By event the first record that makes it unclear what a wait means."""
    histories: dict[int, list[int]] = {}
    for index, step in enumerate(program.steps):
        if step.event in device.owners:
            histories.setdefault(id(device.owners[step.event]), []).append(index)
    twice = [steps for steps in histories.values() if sum(_is_record(program, index) for index in steps) > 1]
    if not twice:
        return
    ordered = _Ordered(program)
    for steps in twice:
        yield from list(_pairs(program, ordered, steps))[:1]


def _pairs(program: Program, ordered: _Ordered, steps: list[int]) -> Iterator[_Again]:
    first, waits = NONE, list[int]()
    for index in steps:
        if not _is_record(program, index):
            waits.append(index)
            continue
        if first != NONE:
            late = next((wait for wait in waits if not ordered.before(wait, index)), NONE)
            names = [program.streams[program.steps[record].stream].name for record in (first, index)]
            if names[0] != names[1]:  # of one name are those that are made in each call
                yield _Again(first, index, NONE)
            elif late != NONE:
                yield _Again(first, index, late)
        first, waits = index, []


def _is_record(program: Program, index: int) -> bool:
    return program.steps[index].kind is StepKind.RECORD


class _Ordered:
    """Whether a wait is over before a step is issued on its stream: happens-before, of steps that take no place."""

    def __init__(self, program: Program) -> None:
        steps: list[Step] = []
        self._places: list[int] = []
        for step in program.steps:
            self._places.append(len(steps))
            steps.append(step)
            if step.kind is StepKind.WAIT:  # what runs right behind the wait stands for it
                steps.append(Step(StepKind.LAUNCH, step.stream, step.name))
        self._clocks = clocks(replace(program, steps=tuple(steps)))

    def before(self, wait: int, step: int) -> bool:
        return self._clocks.before(self._places[wait] + 1, self._places[step])


def _api(program: Program) -> str:
    return "torch.cuda" if program.target == "cuda" else "torch.npu"


RULES = (event_recorded_again, event_made_each_call)
