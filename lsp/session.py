"""What the server knows while it runs: the open schedules, their traces, and what was last found in them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from lsprotocol import types
from pygls.workspace import TextDocument

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.files import TRACE_SUFFIX, ScheduleFile
from streamsched.lsp.document import Document, Traces, read
from streamsched.lsp.findings import findings
from streamsched.lsp.places import Lines
from streamsched.lsp.watching import Beside, beside


@dataclass(frozen=True, slots=True)
class Open:
    """One version of an open schedule, as it is with what lies beside it."""

    uri: str
    version: int
    document: Document
    lines: Lines
    newline: str
    beside: Beside = (None, "")

    @property
    def file(self) -> str:
        """What spans call the text."""
        return self.document.file.path

    def offset(self, position: types.Position) -> int:
        """How many characters of the text stand before a position."""
        place = self.lines.place(position)
        return sum(map(len, self.lines.lines[: place.line - 1])) + place.column - 1


@dataclass
class Session:
    """The state of one server, which answers in one thread and checks in another."""

    traces: Traces = field(default_factory=Traces)
    opened: dict[str, Open] = field(default_factory=dict)
    found: dict[str, tuple[int, tuple[Diagnostic, ...]]] = field(default_factory=dict)
    _reading: Lock = field(default_factory=Lock)

    def open(self, text: TextDocument) -> Open:
        """The schedule as it stands in the editor now."""
        version = text.version or 0
        with self._reading:  # the other thread waits for what it would else read, too
            known = self.opened.get(text.uri)
            if known is None or known.version != version:
                known = self.opened[text.uri] = _read(text, version, self.traces)
        return known

    def outdated(self, uri: str) -> bool:
        """Whether what lies beside a schedule has changed since that was read; it is then forgotten."""
        known = self.opened.get(uri)
        if known is None or known.beside == beside(known.document.file):
            return False
        self.opened.pop(uri, None)
        return True

    def close(self, uri: str) -> None:
        """Forget a schedule that is no longer open."""
        self.opened.pop(uri, None)
        self.found.pop(uri, None)

    def check(self, opened: Open, overtaken: Callable[[], bool]) -> tuple[Diagnostic, ...] | None:
        """Check a schedule and remember what was found; None where it was overtaken."""
        found = findings(opened.document, overtaken)
        if found is None or overtaken():
            return None
        self.found[opened.uri] = (opened.version, found)
        return found

    def known(self, opened: Open) -> tuple[Diagnostic, ...]:
        """What was found in this version; while it is being checked, what the text alone shows."""
        version, found = self.found.get(opened.uri, (None, ()))
        return found if version == opened.version else opened.document.parsed.diagnostics


def _read(text: TextDocument, version: int, traces: Traces) -> Open:
    source = text.source.removeprefix("\ufeff")
    newline = "\r\n" if "\r\n" in source else "\n"
    plain = source.replace("\r\n", "\n").replace("\r", "\n")
    path = text.path or ""
    trace = path.removesuffix(".sched") + TRACE_SUFFIX if path else ""
    file = ScheduleFile(path, plain, os.path.dirname(path), trace, newline)
    seen = beside(file)  # before it is read: what is written meanwhile is seen the next time
    document = read(file, traces)
    lines = tuple(line + "\n" for line in plain.split("\n"))
    return Open(text.uri, version, document, Lines(lines, text.position_codec), newline, seen)
