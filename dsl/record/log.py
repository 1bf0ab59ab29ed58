"""What was issued, in order, while it may still be added to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from streamsched.dsl.diagnostic import Span
from streamsched.dsl.program import via
from streamsched.dsl.program.steps import StepKind
from streamsched.dsl.trace.model import NONE

if TYPE_CHECKING:
    from streamsched.dsl.record.views import Access

HOST = -2
"""Stands for the host thread where a stream is named, until the program gives it a number."""

FIRST_TIME = "first time"
"""The `via` word of a wait for an event that nothing has recorded yet, where the next calls do find a record: it is
meant for the last call's, and does nothing in the first."""


@dataclass(slots=True)
class Entry:
    """One step to be. `words` are those of its `via`; `call` counts the calls of forward() from 0.

    `views` tell how it touches storages; those that they do not name it touches as a whole.
    """

    kind: StepKind
    stream: int
    name: str
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    event: int = NONE
    storage: int = NONE
    source: Span | None = None
    words: list[str] = field(default_factory=list)
    issued_on: int = NONE
    call: int = 0
    views: tuple[Access, ...] = ()


@dataclass(slots=True)
class Log:
    """The entries so far. Nothing is noted before the first call, nor between `stop` and the next one."""

    entries: list[Entry] = field(default_factory=list)
    call: int = NONE
    running: bool = False
    last_source: Span | None = None  # of the last entry that has one, if forward() is not over
    inside: str = ""  # the module in scope whose forward() is running

    def begin(self) -> None:
        """Another call begins."""
        self.call += 1
        self.running = True

    def stop(self) -> None:
        """Note nothing from here on."""
        self.running = False

    def add(self, entry: Entry) -> Entry:
        """Note an entry, if anything is noted now."""
        if self.running:
            entry.call = self.call
            if self.inside and entry.kind in (StepKind.LAUNCH, StepKind.ALLOC):
                entry.words.append(via.inside(self.inside))
            self.entries.append(entry)
            self.last_source = entry.source
        return entry
