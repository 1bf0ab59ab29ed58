"""Programs written as text, so that a test shows what the host issues.

    entry x w                       forward() begins and writes its inputs
    default add: x -> B  @first     a kernel on a stream: reads -> writes, and the groups that hold it
    record B_done default
    wait B_done side
    side alloc buf                  memory without a kernel
    side mm: B w -> mm  #7          op 7 of the trace; without `#`, ops are numbered as they come
    record_stream B side            behind any step ` via x.record_stream()`: how the call that issued it was spelled
    free B
    sync side                       the host waits; `sync *` for all streams
    begin side / end side           a graph capture
    exit mm

A storage is at home on the stream of its first writer; `exit` names the outputs. Step `i` has the source model.py,
line `i + 1`; a group's placement is line 101 of test.sched for the first group, 102 for the second...
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from streamsched.dsl.diagnostic import Span
from streamsched.dsl.program.steps import (
    Group,
    Order,
    OrderKind,
    Program,
    Step,
    StepKind,
    Storage,
    Stream,
)
from streamsched.dsl.trace.model import NONE, StorageKind

SPAN = Span("test.sched", 1, 1, 1, 14)
INSERT = Span("test.sched", 9, 1, 9, 1)


def line(file: str, number: int) -> Span:
    return Span(file, number, 1, number, 10)


@dataclass
class _Reader:
    """Reads the notation."""

    kinds: Mapping[str, StorageKind]
    streams: dict[str, int] = field(default_factory=lambda: {"default": 0})
    storages: dict[str, Storage] = field(default_factory=dict)
    events: dict[str, int] = field(default_factory=dict)
    groups: dict[str, int] = field(default_factory=dict)
    placed: dict[int, int] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    ops: int = 0

    def stream(self, name: str) -> int:
        return NONE if name == "*" else self.streams.setdefault(name, len(self.streams))

    def event(self, name: str) -> int:
        return self.events.setdefault(name, len(self.events))

    def storage(self, name: str, stream: int = 0, kind: StorageKind = StorageKind.OP) -> int:
        kind = self.kinds.get(name, kind)
        home = stream if kind is StorageKind.OP else 0
        self.storages.setdefault(name, Storage(name, kind, 2**20, home))
        return list(self.storages).index(name)

    def read(self, text: str) -> None:
        words, _, via = text.partition(" via ")
        match words.split():
            case ["entry", *names]:
                writes = tuple(self.storage(name, 0, StorageKind.INPUT) for name in names)
                self.add(StepKind.ENTRY, 0, "entry", writes=writes)
            case ["exit", *names]:
                self.add(StepKind.EXIT, 0, "exit", reads=tuple(self.storage(name) for name in names))
                for name in names:
                    old = self.storages[name]
                    self.storages[name] = Storage(old.name, old.kind, old.nbytes, old.home, True)
            case ["record", event, stream]:
                self.add(StepKind.RECORD, self.stream(stream), event, event=self.event(event))
            case ["wait", event, stream]:
                self.add(StepKind.WAIT, self.stream(stream), event, event=self.event(event))
            case ["record_stream", name, stream]:
                self.add(StepKind.RECORD_STREAM, self.stream(stream), name, storage=self.storage(name))
            case ["free", name]:
                number = self.storage(name)
                self.add(StepKind.FREE, self.storages[name].home, name, storage=number)
            case ["sync", stream]:
                self.add(StepKind.HOST_SYNC, self.stream(stream), "synchronize")
            case ["begin", stream]:
                self.add(StepKind.CAPTURE_BEGIN, self.stream(stream), "begin")
            case ["end", stream]:
                self.add(StepKind.CAPTURE_END, self.stream(stream), "end")
            case [stream, "alloc", name, *rest]:
                number = self.storage(name, self.stream(stream))
                self.op(StepKind.ALLOC, self.stream(stream), f"empty_{name}", (), (number,), rest, storage=number)
            case [stream, name, *rest]:
                assert name.endswith(":") and "->" in rest, text
                arrow = rest.index("->")
                written = [word for word in rest[arrow + 1 :] if word[0] not in "@#"]
                reads = tuple(self.storage(word) for word in rest[:arrow])
                writes = tuple(self.storage(word, self.stream(stream)) for word in written)
                self.op(StepKind.LAUNCH, self.stream(stream), name[:-1], reads, writes, rest[arrow + 1 :])
        self.steps[-1] = replace(self.steps[-1], via=via)

    def op(
        self,
        kind: StepKind,
        stream: int,
        name: str,
        reads: tuple[int, ...],
        writes: tuple[int, ...],
        marks: Iterable[str],
        storage: int = NONE,
    ) -> None:
        op, groups = self.ops, []
        for mark in marks:
            if mark[0] == "@":
                groups.append(self.groups.setdefault(mark[1:], len(self.groups)))
                self.placed[groups[-1]] = stream
            elif mark[0] == "#":
                op = int(mark[1:])
        self.ops += 1
        selector = f'node "{name}"'
        self.add(kind, stream, name, reads, writes, storage=storage, op=op, groups=tuple(groups), selector=selector)

    def add(
        self,
        kind: StepKind,
        stream: int,
        name: str,
        reads: tuple[int, ...] = (),
        writes: tuple[int, ...] = (),
        *,
        event: int = NONE,
        storage: int = NONE,
        op: int = NONE,
        groups: tuple[int, ...] = (),
        selector: str = "",
    ) -> None:
        source = line("model.py", len(self.steps) + 1)
        self.steps.append(Step(kind, stream, name, reads, writes, event, storage, op, groups, selector, source))


def build_program(
    text: str,
    *,
    target: str = "npu",
    edges: Iterable[str] = (),
    insert: Span | None = INSERT,
    kinds: Mapping[str, StorageKind] = {},
    whole_graph: bool = False,
) -> Program:
    """The program that `text` writes. `edges` are between groups (`a -> b`); edge `i` is line 201 + i of the text."""
    reader = _Reader(kinds)
    for row in text.strip().splitlines():
        reader.read(row.strip())

    def members(group: str) -> tuple[int, ...]:
        number = reader.groups[group]
        return tuple(index for index, step in enumerate(reader.steps) if number in step.groups)

    required = []
    for number, edge in enumerate(edges):
        before, after = edge.split(" -> ")
        span = line("test.sched", 201 + number)
        required.append(Order(OrderKind.EDGE, edge, members(before), members(after), span))
    groups = tuple(
        Group(name, line("test.sched", 51 + number), line("test.sched", 101 + number), reader.placed[number])
        for name, number in reader.groups.items()
    )
    return Program(
        "test",
        target,
        tuple(Stream(name) for name in reader.streams),
        tuple(reader.storages.values()),
        tuple(reader.events),
        groups,
        tuple(reader.steps),
        tuple(required),
        SPAN,
        insert,
        whole_graph,
    )
