"""A schedule as an editor holds it, with the saved trace beside it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from streamsched.dsl.files import ScheduleFile
from streamsched.dsl.garbage import keep_all
from streamsched.dsl.plan.index import TraceIndex
from streamsched.dsl.plan.select import Selecting
from streamsched.dsl.syntax.parser import Parsed, Reading, as_schedule, read_statements
from streamsched.dsl.syntax.tree import GroupStatement, Schedule, Selector, StreamStatement
from streamsched.dsl.trace.model import Source
from streamsched.dsl.trace.store import Loaded, load
from streamsched.lsp.found import Symbol, symbols
from streamsched.lsp.watching import state


@dataclass(frozen=True)
class Document:
    """One version of a schedule's text. `saved` is what could be read beside it; None where no trace lies there."""

    file: ScheduleFile
    reading: Reading
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

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """Every place where a group or a stream is named, in the order of the text."""
        return tuple(symbols(self.schedule))

    def select(self, selector: Selector) -> list[int]:
        """The ops that a selector selects, in program order; none without a trace."""
        if self.index is None:
            return []
        return sorted(self._selecting.select(selector))

    @cached_property
    def _selecting(self) -> Selecting:
        """One evaluation for all requests, so that each group is selected once."""
        assert self.index is not None
        return Selecting(self.index, {name: statement.selector for name, statement in self.groups.items()})

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
        now = state(path)
        if now is None:
            self._known.pop(path, None)
            return None, None
        known = self._known.get(path)
        if known is None or known[0] != now:
            saved = load(path, document.schedule.span.start)
            index = TraceIndex(saved.trace) if saved.trace is not None else None
            known = self._known[path] = (now, saved, index)
            keep_all()
        return known[1:]


def read(file: ScheduleFile, traces: Traces) -> Document:
    """The document of a text."""
    reading = read_statements(file.text, file.path)
    parsed = as_schedule(reading)
    saved, index = traces.read(file.trace_path, parsed) if file.trace_path else (None, None)
    return Document(file, reading, parsed, saved, index)
