"""Fixes that take statements and names out of a schedule, or put them in."""

from __future__ import annotations

from streamsched.dsl.diagnostic import Edit, Fix, Span
from streamsched.dsl.syntax.tree import Name, Statement


def lines_of(statement: Statement) -> Span:
    """The whole lines of a statement, with their newline."""
    span = statement.span
    return Span(span.file, span.line, 1, span.end_line + 1, 1)


def removal(statement: Statement, what: str, safe: bool = False) -> Fix:
    """The fix that removes the lines of `statement`, which is `what`."""
    return Fix(f"remove {what}", (Edit(lines_of(statement), ""),), safe)


def removal_from_list(name: Name, names: tuple[Name, ...], what: str) -> Fix:
    """The fix that removes `name` and a comma from the list `names` of two or more."""
    assert len(names) >= 2
    index = next(index for index, other in enumerate(names) if other is name)
    if index + 1 < len(names):
        gap = name.span.start.to(names[index + 1].span.start)
    else:
        gap = names[index - 1].span.end.to(name.span)
    return Fix(f"remove {what}", (Edit(gap, ""),))


def insertion_before(statement: Statement, text: str) -> Fix:
    """The fix that inserts `text` as a line before `statement`."""
    span = statement.span
    place = Span(span.file, span.line, 1, span.line, 1)
    return Fix(f"insert `{text}`", (Edit(place, f"{text}\n"),))
