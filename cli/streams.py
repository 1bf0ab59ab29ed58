"""The standard streams, made safe to print to: where they are closed, their reader goes away, or their disk is full."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, TextIO

from streamsched.cli.console import Failure


class StandardStream(io.FileIO):
    """A standard stream of the process, from its first byte to its last.

    What is printed when its reader has gone, as `head` goes, is dropped: the work and its exit code are the same,
    however early it went. Where writing fails otherwise, `fail` is called once, and the rest is dropped, too. A stream
    that was closed from the beginning drops everything; `lost` is set where that was something.
    """

    def __init__(self, descriptor: int, closed: bool, fail: Callable[[OSError], None]) -> None:
        super().__init__(descriptor, "wb", closefd=False)
        self.was_closed = closed
        self.lost = False
        self._fail: Callable[[OSError], None] | None = None if closed else fail

    def write(self, data: Any, /) -> int:
        """Write bytes; gives how many were written, or dropped."""
        if self._fail is not None:
            try:
                return super().write(data)
            except OSError as error:
                fail, self._fail = self._fail, None
                if not isinstance(error, ConnectionError):
                    fail(error)
        self.lost = self.lost or self.was_closed
        return len(data)


@contextlib.contextmanager
def safe_streams() -> Iterator[Callable[[], bool]]:
    """Print to safe streams meanwhile; what a caller has put in their place stays.

    Gives what says whether standard output is closed and something was printed there. Printing to it raises `Failure`
    where it cannot be written; what stderr does not take is lost in silence, as there is nobody to tell.
    """
    _occupy_closed()
    before = sys.stdout, sys.stderr
    sys.stdout = _safe(sys.stdout, 1, _cannot_write)
    sys.stderr = _safe(sys.stderr, 2, lambda error: None)
    try:
        yield lambda: _raw(sys.stdout, "lost")
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, Failure):
                stream.flush()
        sys.stdout, sys.stderr = before


def is_closed(stream: TextIO | None) -> bool:
    """Whether a standard stream was closed when the process began."""
    return stream is None or _raw(stream, "was_closed")


def _raw(stream: TextIO, what: str) -> bool:
    raw = getattr(getattr(stream, "buffer", None), "raw", None)
    return isinstance(raw, StandardStream) and bool(getattr(raw, what))


def _cannot_write(error: OSError) -> None:
    raise Failure(f"cannot write standard output: {(error.strerror or str(error)).lower()}") from error


def _safe(stream: TextIO | None, descriptor: int, fail: Callable[[OSError], None]) -> TextIO:
    """A stream that a message is never lost to, be its encoding however narrow."""
    if stream is None:
        raw = StandardStream(descriptor, True, fail)
        return io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8", errors="backslashreplace")
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.reconfigure(errors="backslashreplace")
    own = getattr(stream.buffer, "raw", stream.buffer)
    if not isinstance(own, io.FileIO) or isinstance(own, StandardStream) or own.fileno() != descriptor:
        return stream
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(StandardStream(descriptor, False, fail)),
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def _occupy_closed() -> None:
    """Put the null device where a standard stream is closed, lest the next file that is opened be taken for it."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest that is free: this one
