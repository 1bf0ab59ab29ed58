"""A launch log read back as a program, so that the ordinary check can judge what the backend really issued.

A storage is a stretch of addresses that every operand covers whole or not at all. The log tells no frees: memory that
is used again shows as a write over what others still read or wrote. What an operand covers is taken from its first byte
to its last, so that interleaved columns of one tensor count as touching.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from streamsched.dsl.diagnostic import Span
from streamsched.dsl.program.steps import DEFAULT, Order, OrderKind, Program, Step, StepKind, Storage, Stream
from streamsched.dsl.trace.model import NONE, StorageKind
from streamsched.npu_sim.log import Operand, Record

MAIN = 1
"""The device's number for torch_npu's default stream, the first that it makes."""

_HOST = -1
"""Stands for the stream of what the host copies by itself and waits for."""

_TASKS = frozenset({"launch", "copy", "host_function"})


def captured(records: Iterable[Record]) -> tuple[Record, ...]:
    """What was issued into the graph that was captured last; nothing where none was."""
    kept: list[Record] = []
    for record in records:
        if record.call == "capture_begin":
            kept = []
        if record.graph is not None and record.call != "replay":
            kept.append(record)
    return tuple(kept)


def program_of(
    records: Sequence[Record], file: str = "launches.jsonl", streams: Mapping[int, str] | None = None
) -> Program:
    """The program that a log holds: one graph of it (see `captured`), or what was issued eagerly.

    Entry writes what is read before anything here writes it, and exit reads everything; all other streams must be
    forked and joined. Each step's source is its line in `file`. An event that is recorded again counts as a new one, as
    a wait means the last record issued before it. `streams` are names for the device's streams.
    """
    reader = _Reader(_boundaries(records), file, {main_stream(records): DEFAULT}, streams or {})
    for record in records:
        reader.read(record)
    return reader.program()


def main_stream(records: Iterable[Record]) -> int:
    """The device's number of the caller's stream: the one that a capture began on, else torch_npu's default stream."""
    return next((r.stream for r in records if r.call == "capture_begin" and r.stream is not None), MAIN)


def _boundaries(records: Iterable[Record]) -> list[int]:
    """All addresses at which an operand begins or ends, ascending."""
    operands = [operand for record in records for operand in record.operands]
    return sorted({edge for operand in operands for edge in (operand.address, operand.address + operand.size)})


@dataclass
class _Reader:
    """The steps read so far."""

    boundaries: list[int]
    file: str
    streams: dict[int, int]
    named: Mapping[int, str]
    steps: list[Step] = field(default_factory=list)
    names: list[str] = field(default_factory=lambda: ["default"])
    storages: dict[int, int] = field(default_factory=dict)  # by the number of the stretch
    recorded: dict[int, int] = field(default_factory=dict)  # by the device's event: the program's
    events: list[str] = field(default_factory=list)

    def read(self, record: Record) -> None:
        """Add the step of one line, if it has one."""
        if record.call in _TASKS:
            self._task(record)
        elif record.call == "record" and record.event is not None:
            self.recorded[record.event] = self._event(record.event)
            self._add(StepKind.RECORD, record, event=self.recorded[record.event])
        elif record.call == "wait" and record.event is not None:
            known = self.recorded.get(record.event)
            self._add(StepKind.WAIT, record, event=self._event(record.event) if known is None else known)
        elif record.call == "sync":
            self._add(StepKind.HOST_SYNC, record, stream=NONE if record.stream is None else self._stream(record.stream))

    def _task(self, record: Record) -> None:
        reads = self._stretches(operand for operand in record.operands if operand.reads)
        writes = self._stretches(operand for operand in record.operands if operand.writes)
        stream = self._stream(_HOST if record.stream is None else record.stream)
        self._add(StepKind.LAUNCH, record, stream=stream, reads=reads, writes=writes)
        if record.stream is None:  # a synchronous copy: it belongs to no stream, and the host goes on when it is done
            self._add(StepKind.HOST_SYNC, record, stream=stream)

    def _add(
        self,
        kind: StepKind,
        record: Record,
        *,
        stream: int | None = None,
        event: int = NONE,
        reads: tuple[int, ...] = (),
        writes: tuple[int, ...] = (),
    ) -> None:
        line = record.order + 1
        name = self.events[event] if event != NONE else record.operator.removeprefix("aclnn") or record.call
        if record.node is not None:
            name = f"{name}#{record.node}"
        if stream is None:
            stream = DEFAULT if record.stream is None else self._stream(record.stream)
        source = Span(self.file, line, 1, line, 1)
        self.steps.append(Step(kind, stream, name, reads, writes, event=event, source=source))

    def _stream(self, number: int) -> int:
        if number not in self.streams:
            self.streams[number] = len(self.names)
            self.names.append("the host's" if number == _HOST else self.named.get(number, f"s{number}"))
        return self.streams[number]

    def _event(self, number: int) -> int:
        self.events.append(f"e{number}")
        return len(self.events) - 1

    def _stretches(self, operands: Iterable[Operand]) -> tuple[int, ...]:
        found: dict[int, None] = {}
        for operand in operands:
            first = bisect_left(self.boundaries, operand.address)
            last = bisect_left(self.boundaries, operand.address + operand.size)
            found.update(dict.fromkeys(self.storages.setdefault(n, len(self.storages)) for n in range(first, last)))
        return tuple(found)

    def program(self) -> Program:
        """The program of all steps read, between an entry and an exit."""
        whole = Span(self.file, 1, 1, 1, 1)
        given: dict[int, None] = {}
        made: set[int] = set()
        for step in self.steps:
            given.update(dict.fromkeys(storage for storage in step.reads if storage not in made))
            made.update(step.writes)
        entry = Step(StepKind.ENTRY, DEFAULT, "entry", writes=tuple(given), source=whole)
        leave = Step(StepKind.EXIT, DEFAULT, "exit", reads=tuple(self.storages.values()), source=whole)
        steps = (entry, *self._host_enters(), *self.steps, leave)
        return Program(
            name="launches",
            target="npu",
            streams=tuple(map(Stream, self.names)),
            storages=tuple(self._storage(stretch) for stretch in self.storages),
            events=tuple(self.events),
            groups=(),
            steps=steps,
            required=_forks_and_joins(steps),
            span=whole,
        )

    def _host_enters(self) -> tuple[Step, ...]:
        """What the host copies by itself comes after entry."""
        if _HOST not in self.streams:
            return ()
        self.events.append("entry")
        event = len(self.events) - 1
        return (
            Step(StepKind.RECORD, DEFAULT, "entry", event=event),
            Step(StepKind.WAIT, self.streams[_HOST], "entry", event=event),
        )

    def _storage(self, stretch: int) -> Storage:
        start, end = self.boundaries[stretch : stretch + 2]
        return Storage(f"{end - start} bytes at {start:#x}", StorageKind.OP, end - start)


def _forks_and_joins(steps: Sequence[Step]) -> tuple[Order, ...]:
    """Entry before all side streams' first step, and exit after their last."""
    ends: dict[int, tuple[int, int]] = {}
    for index, step in enumerate(steps):
        if step.kind is StepKind.LAUNCH and step.stream != DEFAULT:
            ends[step.stream] = (ends.get(step.stream, (index, index))[0], index)
    forks = [Order(OrderKind.ENTRY, "entry", (0,), (first,)) for first, _ in ends.values()]
    joins = [Order(OrderKind.EXIT, "exit", (last,), (len(steps) - 1,)) for _, last in ends.values()]
    return (*forks, *joins)
