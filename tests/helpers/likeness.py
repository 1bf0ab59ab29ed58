"""Two programs held against each other, whatever their streams, events, storages and ops are called and numbered."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby

from streamsched.dsl.program.steps import Program, Step, StepKind
from streamsched.dsl.trace.model import NONE

_UNORDERED = (StepKind.FREE, StepKind.RECORD_STREAM)


@dataclass
class Numbers:
    """Numbers given away in the order of first use."""

    known: dict[int, int] = field(default_factory=dict)

    def of(self, index: int) -> int:
        return NONE if index == NONE else self.known.setdefault(index, len(self.known))


@dataclass
class Anonymous:
    """A program without names: its steps, then what is known of each stream and storage, in the order of first use."""

    program: Program
    streams: Numbers = field(default_factory=Numbers)
    events: Numbers = field(default_factory=Numbers)
    storages: Numbers = field(default_factory=Numbers)

    def steps(self) -> list[object]:
        """The steps; frees in a row, whose order means nothing, are one set."""
        found: list[object] = []
        for kind, steps in groupby(self.program.steps, lambda step: step.kind):
            run = [self._step(step) for step in steps]
            found += [frozenset(run)] if kind in _UNORDERED else run
        return found

    def _step(self, step: Step) -> object:
        trace = self.program.trace
        assert trace is not None
        return (
            step.kind.value,
            self.streams.of(step.stream),
            self.streams.of(step.issued_on),
            tuple(map(self.storages.of, step.reads)),
            tuple(map(self.storages.of, step.writes)),
            self.events.of(step.event),
            self.storages.of(step.storage),
            "" if step.op == NONE else trace.ops[step.op].target,
        )

    def used_streams(self) -> list[object]:
        """The streams; there are no limits of cores in code for CUDA."""
        streams = [self.program.streams[index] for index in self.streams.known]
        limited = self.program.target != "cuda"
        return [(s.priority, s.of_group, *((s.aic, s.aiv) if limited else ())) for s in streams]

    def used_storages(self) -> list[object]:
        storages = [self.program.storages[index] for index in self.storages.known]
        return [(s.kind, s.nbytes, self.streams.of(s.home), s.output) for s in storages]


def likeness(program: Program) -> list[list[object]]:
    """What is the same of two programs that differ in names only: steps, streams and storages."""
    anonymous = Anonymous(program)
    return [anonymous.steps(), anonymous.used_streams(), anonymous.used_storages()]
