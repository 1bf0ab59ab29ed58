"""A schedule as an editor holds it, with the saved trace beside it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property

from streamsched.dsl.files import ScheduleFile
from streamsched.dsl.plan.index import TraceIndex
from streamsched.dsl.plan.select import Selecting
from streamsched.dsl.syntax.parser import Parsed, parse
from streamsched.dsl.syntax.tree import GroupStatement, Schedule, Selector, StreamStatement
from streamsched.dsl.trace.model import Source
from streamsched.dsl.trace.store import Loaded, load


@dataclass(frozen=True)
class Document:
    """One version of a schedule's text. `saved` is what could be read beside it; None where no trace lies there."""

    file: ScheduleFile
    parsed: Parsed
    saved: Loaded | None
    index: TraceIndex | None

    @property
    def schedule(self) -> Schedule:
        """The statements that could be read."""
        return self.parsed.schedule

    @cached_property
    def groups(self) -> dict[str, GroupStatement]:
        """The declarations of groups, by name; of two with one name the first."""
        found: dict[str, GroupStatement] = {}
        for statement in self.schedule.statements:
            if isinstance(statement, GroupStatement):
                found.setdefault(statement.name.text, statement)
        return found

    @cached_property
    def streams(self) -> dict[str, StreamStatement]:
        """The declarations of streams, by name."""
        found: dict[str, StreamStatement] = {}
        for statement in self.schedule.statements:
            if isinstance(statement, StreamStatement):
                for name in statement.names:
                    found.setdefault(name.text, statement)
        return found

    def select(self, selector: Selector) -> list[int]:
        """The ops that a selector selects, in program order; none without a trace."""
        if self.index is None:
            return []
        groups = {name: statement.selector for name, statement in self.groups.items()}
        return sorted(Selecting(self.index, groups).select(selector))

    @cached_property
    def sources(self) -> dict[str, Source]:
        """The files that the trace was made from, by the names that its positions use."""
        return dict(self.index.trace.sources) if self.index is not None else {}


@dataclass
class Traces:
    """The saved traces that were read, each until its file changes."""

    _known: dict[str, tuple[tuple[int, int], Loaded, TraceIndex | None]] = field(default_factory=dict)

    def read(self, path: str, document: Parsed) -> tuple[Loaded | None, TraceIndex | None]:
        """The trace at `path`, with the tables for selecting from it; None where there is no file."""
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            self._known.pop(path, None)
            return None, None
        state = (status.st_mtime_ns, status.st_size)
        known = self._known.get(path)
        if known is None or known[0] != state:
            saved = load(path, document.schedule.span.start)
            index = TraceIndex(saved.trace) if saved.trace is not None else None
            known = self._known[path] = (state, saved, index)
        return known[1:]


def read(file: ScheduleFile, traces: Traces) -> Document:
    """The document of a text."""
    parsed = parse(file.text, file.path)
    saved, index = traces.read(file.trace_path, parsed) if file.trace_path else (None, None)
    return Document(file, parsed, saved, index)
