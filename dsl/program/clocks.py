"""Happens-before over a program, by vector clocks.

A clock counts, for each stream, the running steps (entry, kernels, allocations, exit) that are complete. A record
takes the clock of its stream; a wait joins it into the clock of another. A wait on an event that was not recorded
before, in issue order, does nothing: that is what the devices do.
"""

from __future__ import annotations

from dataclasses import dataclass

from streamsched.dsl.program.steps import Program, StepKind
from streamsched.dsl.trace.model import NONE


@dataclass(frozen=True, slots=True)
class Clocks:
    """The clock of every step of a program.

    `positions[i]` counts the running steps of step i's stream that were issued before it; `seen[i][s]` counts those of
    another stream `s` that are complete before step i starts.
    """

    streams: tuple[int, ...]
    positions: tuple[int, ...]
    seen: tuple[tuple[int, ...], ...]

    def before(self, first: int, second: int) -> bool:
        """Whether the running step `first` completes before step `second` starts."""
        stream = self.streams[first]
        if stream == self.streams[second]:
            return self.positions[first] < self.positions[second]
        return self.positions[first] < self.seen[second][stream]


def join(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    """The clock that has seen what either has seen."""
    return tuple([a if a >= b else b for a, b in zip(left, right, strict=True)])


def advance(clock: tuple[int, ...], stream: int, count: int) -> tuple[int, ...]:
    """`clock` with `count` steps complete on `stream`."""
    return (*clock[:stream], count, *clock[stream + 1 :])


def clocks(program: Program) -> Clocks:
    """The clocks of all steps of `program`. Time grows with steps, and with streams for each sync."""
    width = len(program.streams)
    counts = [0] * width
    current = [(0,) * width] * width
    recorded: dict[int, tuple[int, ...]] = {}
    streams: list[int] = []
    positions: list[int] = []
    seen: list[tuple[int, ...]] = []
    for step in program.steps:
        stream = max(step.stream, 0)
        if step.kind is StepKind.WAIT and step.event in recorded:
            current[stream] = join(current[stream], recorded[step.event])
        elif step.kind is StepKind.RECORD:
            recorded[step.event] = advance(current[stream], stream, counts[stream])
        elif step.kind is StepKind.HOST_SYNC:
            awaited = range(width) if step.stream == NONE else (stream,)
            for other in awaited:
                complete = advance(current[other], other, counts[other])
                current = [join(clock, complete) for clock in current]
        streams.append(stream)
        positions.append(counts[stream])
        seen.append(current[stream])
        if step.runs:
            counts[stream] += 1
    return Clocks(tuple(streams), tuple(positions), tuple(seen))
