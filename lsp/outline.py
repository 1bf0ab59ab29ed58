"""The outline of a schedule: what it declares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from streamsched.dsl.diagnostic import Span
from streamsched.dsl.syntax.formatter import format_selector
from streamsched.dsl.syntax.tree import GroupStatement, ModelStatement, Schedule, ScheduleStatement, StreamStatement


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the outline: a name, what it is (`schedule`, `model`, `stream`, `group`), and where."""

    name: str
    kind: str
    detail: str
    span: Span  # the statement
    name_span: Span


def outline(schedule: Schedule) -> Iterator[Entry]:
    """What the schedule declares, in the order of the text."""
    for statement in schedule.statements:
        match statement:
            case ScheduleStatement(name):
                yield Entry(name.text, "schedule", "", statement.span, name.span)
            case ModelStatement(file, attribute):
                yield Entry(f"{file}:{attribute}", "model", "", statement.span, statement.span)
            case StreamStatement(names):
                for name in names:
                    yield Entry(name.text, "stream", "", statement.span, name.span)
            case GroupStatement(name, selector):
                yield Entry(name.text, "group", format_selector(selector), statement.span, name.span)
