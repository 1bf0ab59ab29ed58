"""What a model that uses streams by itself does with them while it is traced, as data beside the trace."""

from __future__ import annotations

from dataclasses import dataclass

from streamsched.dsl.trace.model import NONE


@dataclass(frozen=True, slots=True)
class TracedStream:
    """A stream that the model issued something on, as the code around it calls it; `streams[0]` is the caller's."""

    name: str
    priority: int | None = None
    aic: int | None = None
    aiv: int | None = None


@dataclass(frozen=True, slots=True)
class TracedSync:
    """A record or a wait. `place` counts the ops that were issued before it, `event` is another for each record.

    `name` is what the code calls the event; empty where it has no name.
    """

    is_wait: bool
    stream: int
    event: int
    place: int
    name: str = ""

    def __post_init__(self) -> None:
        assert self.event != NONE, "a wait for an event that was never recorded does nothing"


@dataclass(frozen=True, slots=True)
class Streamed:
    """The streams of a traced model: `ops` are, by op, those that were current."""

    streams: tuple[TracedStream, ...]
    ops: tuple[int, ...]
    syncs: tuple[TracedSync, ...]
    record_streams: int = 0  # how many calls of `record_stream`
