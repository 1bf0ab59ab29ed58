"""Threads besides the one that is recorded: torch tells only the thread that asks of what it runs."""

from __future__ import annotations

import threading

from streamsched.dsl.diagnostic import Span
from streamsched.dsl.program.steps import DEFAULT
from streamsched.dsl.record.places import Places


class _Own(threading.local):
    """What each thread has of its own: the streams that it has entered, and whether its first use was noted."""

    def __init__(self) -> None:
        self.entered: list[int] = []
        self.noted = False


class OtherThreads:
    """Where other threads have used streams first, and the streams that are current there."""

    def __init__(self, places: Places) -> None:
        self.seen: dict[Span | None, None] = {}  # in the order in which they were met
        self._places = places
        self._recorded = threading.get_ident()
        self._own = _Own()

    def running(self) -> bool:
        """Whether another thread is running now than the one that is recorded; its first place is noted."""
        if threading.get_ident() == self._recorded:
            return False
        if not self._own.noted:
            self._own.noted = True
            self.seen.setdefault(self._places.here())
        return True

    def current(self) -> int:
        """The stream that is current on the thread that is running, which is another one."""
        return self._own.entered[-1] if self._own.entered else DEFAULT

    def enter(self, stream: int) -> None:
        """Let a stream be current on the thread that is running."""
        self._own.entered.append(stream)

    def leave(self) -> None:
        """Go back to the stream that was current before."""
        self._own.entered.pop()
