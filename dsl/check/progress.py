"""How far each stream has come, and has seen the others come, while the host issues a program step by step."""

from __future__ import annotations

from typing import TypeAlias

from streamsched.dsl.program.clocks import advance, join
from streamsched.dsl.program.steps import Step, StepKind
from streamsched.dsl.trace.model import NONE

Clock: TypeAlias = tuple[int, ...]


class Progress:
    """The state of the streams between two steps of issue.

    `counts[s]` steps have been issued on stream `s`; `seen[s][t]` of stream `t`'s are complete before whatever is
    issued next on `s`. The meaning of a clock, and of a wait without a record, is that of `program.clocks`, which
    has no state to ask in between.
    """

    def __init__(self, streams: int) -> None:
        self.counts = [0] * streams
        self.seen: list[Clock] = [(0,) * streams] * streams
        self._recorded: dict[int, Clock] = {}

    def issue(self, step: Step) -> None:
        """Issue a step: what runs takes a place in its stream, records, waits and host syncs move clocks."""
        if step.runs:
            self.counts[step.stream] += 1
        elif step.kind is StepKind.RECORD:
            self._recorded[step.event] = self.reached(step.stream)
        elif step.kind is StepKind.WAIT:
            if step.event in self._recorded:
                self.wait(step.stream, self._recorded[step.event])
        elif step.kind is StepKind.HOST_SYNC:
            for awaited in range(len(self.counts)) if step.stream == NONE else (step.stream,):
                complete = self.reached(awaited)
                self.seen = [join(clock, complete) for clock in self.seen]

    def wait(self, stream: int, clock: Clock) -> None:
        """Let `stream` wait until all that `clock` counts is complete."""
        self.seen[stream] = join(self.seen[stream], clock)

    def reached(self, stream: int) -> Clock:
        """What is complete when all that was issued on `stream` is."""
        return advance(self.seen[stream], stream, self.counts[stream])

    def next_call(self) -> None:
        """Begin another call: its events have the names of the last call's and are others."""
        self._recorded.clear()
