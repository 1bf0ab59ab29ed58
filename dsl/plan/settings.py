"""What a schedule says once for the whole program: target, sync, memory, streams."""

from __future__ import annotations

from dataclasses import dataclass

from streamsched.dsl.devices.device import Device
from streamsched.dsl.diagnostic import Span
from streamsched.dsl.program.steps import Stream
from streamsched.dsl.syntax.digest import digest
from streamsched.dsl.syntax.tree import (
    GraphsStatement,
    MemoryStatement,
    Schedule,
    ScheduleStatement,
    StreamStatement,
    SyncStatement,
    TargetStatement,
)

DEFAULT_TARGET = "npugraph_ex"


@dataclass(frozen=True, slots=True)
class Settings:
    """A schedule's settings, defaults filled in. `streams[0]` is `default`."""

    name: str
    target: str
    sync: str
    memory: str
    streams: tuple[Stream, ...]
    span: Span
    insert: Span
    digest: str
    scoped: bool = False  # the program is that of a part of the model
    graphs: int = 1
    device: Device | None = None

    @property
    def whole_graph(self) -> bool:
        """Whether one captured graph holds the whole program and nothing else."""
        return self.target == "npugraph_ex" and not self.scoped

    @property
    def inside_graph(self) -> bool:
        """Whether a captured graph holds the program among others."""
        return self.target == "npugraph_ex" and self.scoped

    def stream(self, name: str) -> int:
        """The index of the stream `name`, which must be declared."""
        return next(index for index, stream in enumerate(self.streams) if stream.name == name)


def settings_of(schedule: Schedule, target: str | None = None) -> Settings:
    """The settings of `schedule`; `target` overrides its own."""
    span = schedule.span.start
    chosen, sync, memory, graphs = DEFAULT_TARGET, "explicit", "auto", 1
    streams = {"default": Stream("default")}
    for statement in schedule.statements:
        match statement:
            case ScheduleStatement():
                span = statement.span
            case TargetStatement(name):
                chosen = name.text
            case SyncStatement(mode):
                sync = mode
            case MemoryStatement(mode):
                memory = mode
            case GraphsStatement(count):
                graphs = count
            case StreamStatement(names, priority, aic, aiv):
                for name in names:
                    streams[name.text] = Stream(name.text, name.span, priority, aic, aiv)
            case _:
                pass
    return Settings(
        schedule.name,
        target or chosen,
        sync,
        memory,
        tuple(streams.values()),
        span,
        schedule.span.end,
        digest(schedule),
        graphs=graphs,
    )
