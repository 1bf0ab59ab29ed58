"""From the log of a run to a program.

The caller's part is written out: it makes the inputs on `default` before each call, and reads the outputs there and
drops both after it. Under npugraph_ex entry and exit stand for it, with the fork and the join that it inserts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from streamsched.dsl.diagnostic import Span
from streamsched.dsl.program import via
from streamsched.dsl.program.steps import DEFAULT, Program, Step, StepKind, Storage, Stream
from streamsched.dsl.record.device import Device
from streamsched.dsl.record.graph_memory import freed_in_graph
from streamsched.dsl.record.log import HOST, Entry
from streamsched.dsl.record.memory import Block
from streamsched.dsl.record.parts import in_parts
from streamsched.dsl.trace.model import NONE

NPUGRAPH_EX = "npugraph_ex"


def program_of(device: Device, blocks: list[Block], target: str, name: str, span: Span, outputs: set[int]) -> Program:
    """The program that was recorded on `device`. `outputs` are the storages that forward() returned."""
    builder = _Builder(device, blocks, outputs)
    entries = list(builder.compiled() if target == NPUGRAPH_EX else device.log.entries)
    steps = tuple(builder.step(entry) for entry in entries)
    program = Program(
        name=name,
        target=target,
        streams=builder.streams(),
        storages=builder.storages(),
        events=(*device.events, *builder.events),
        groups=(),
        steps=steps,
        required=(),
        span=span,
        whole_graph=target == NPUGRAPH_EX,
    )
    return in_parts(program, entries, builder.used)


@dataclass
class _Builder:
    """Numbers streams and storages as they come to be used."""

    device: Device
    blocks: list[Block]
    outputs: set[int]

    def __post_init__(self) -> None:
        self.events: list[str] = []
        self.used: dict[int, int] = {}
        self.host = NONE

    def streams(self) -> tuple[Stream, ...]:
        """The device's streams, and the host's behind them if it did something."""
        found = [Stream(q.name, q.source, q.priority, q.aic, q.aiv, q.of_group) for q in self.device.queues]
        return (*found, Stream("host")) if self.host != NONE else tuple(found)

    def storages(self) -> tuple[Storage, ...]:
        """The storages that steps name."""
        return tuple(
            Storage(block.name, block.kind, block.nbytes, self._stream(block.home), number in self.outputs)
            for number, block in ((number, self.blocks[number]) for number in self.used)
        )

    def step(self, entry: Entry) -> Step:
        """One entry as a step."""
        return Step(
            entry.kind,
            self._stream(entry.stream),
            entry.name,
            tuple(map(self._storage, entry.reads)),
            tuple(map(self._storage, entry.writes)),
            event=entry.event,
            storage=NONE if entry.storage == NONE else self._storage(entry.storage),
            source=entry.source,
            via=via.join(*dict.fromkeys(entry.words)) if entry.words else "",
            issued_on=entry.issued_on,
        )

    def _stream(self, number: int) -> int:
        if number != HOST:
            return number
        self.host = len(self.device.queues)
        return self.host

    def _storage(self, number: int) -> int:
        return self.used.setdefault(number, len(self.used))

    def compiled(self) -> Iterator[Entry]:
        """The entries as npugraph_ex has them: with the fork and the join that it inserts into each graph."""
        for entry in freed_in_graph(self.device.log.entries, self.blocks, self.outputs):
            entered = dict.fromkeys(self.device.entered.get(entry.call, ()))
            breaks = via.GRAPH_BREAK in entry.words
            if entry.kind is StepKind.EXIT or (breaks and entry.kind is StepKind.CAPTURE_END):
                for side in entered:
                    yield from self._sync(side, (DEFAULT,), entry.call)
            yield entry
            if entered and (entry.kind is StepKind.ENTRY or (breaks and entry.kind is StepKind.CAPTURE_BEGIN)):
                yield from self._sync(DEFAULT, entered, entry.call)

    def _sync(self, before: int, after: Iterable[int], call: int) -> Iterator[Entry]:
        number = len(self.device.events) + len(self.events)
        self.events.append("inserted")
        yield Entry(StepKind.RECORD, before, "inserted", event=number, call=call)
        for stream in after:
            yield Entry(StepKind.WAIT, stream, "inserted", event=number, call=call)
