"""Fixes that take statements and names out of a schedule, or put them in."""

from __future__ import annotations

from collections.abc import Iterable

from streamsched.dsl.diagnostic import Edit, Fix, Span
from streamsched.dsl.syntax.tree import Comment, Name, Statement


def lines_of(statement: Statement) -> Span:
    """The whole lines of a statement, with their newline."""
    span = statement.span
    return Span(span.file, span.line, 1, span.end_line + 1, 1)


def removal(statement: Statement, what: str, safe: bool = False) -> Fix:
    """The fix that removes the lines of `statement`, which is `what`."""
    return Fix(f"remove {what}", (Edit(lines_of(statement), ""),), safe)


def removal_from_list(name: Name, names: tuple[Name, ...], what: str, comments: Iterable[Comment] = ()) -> Fix:
    """The fix that removes `name` and a comma from the list `names` of two or more, with those `comments` that are
    its own: behind it where no other name stands on its line, or before it where it is the last."""
    assert len(names) >= 2
    index = next(index for index, other in enumerate(names) if other is name)
    before = names[index - 1] if index else None
    alone = before is not None and before.span.end_line < name.span.line
    if index + 1 < len(names):
        following = names[index + 1].span
        gap = name.span.start.to(following.start)
        shared = not alone and index > 0
        kept = [comment.text for comment in _within(gap, comments) if comment.own_line or shared]
        if index == 0 and kept:  # a list begins behind its keyword, where no comment may stand
            line = Span(gap.file, gap.line, 1, gap.line, 1)
            return Fix(f"remove {what}", (Edit(line, "".join(f"{text}\n" for text in kept)), Edit(gap, "")))
        return Fix(f"remove {what}", (Edit(gap, "".join(f"{text}\n{' ' * (following.column - 1)}" for text in kept)),))
    assert before is not None
    behind = [c.span for c in comments if alone and not c.own_line and c.span.line == name.span.end_line]
    gap = before.span.end.to(behind[0] if behind else name.span)
    kept = [comment.text for comment in _within(gap, comments) if comment.span.line == before.span.end_line]
    return Fix(f"remove {what}", (Edit(gap, "".join(f"  {text}" for text in kept)),))


def _within(span: Span, comments: Iterable[Comment]) -> list[Comment]:
    start, end = (span.line, span.column), (span.end_line, span.end_column)
    return [comment for comment in comments if start <= (comment.span.line, comment.span.column) < end]


def insertion_before(statement: Statement, text: str) -> Fix:
    """The fix that inserts `text` as a line before `statement`."""
    span = statement.span
    place = Span(span.file, span.line, 1, span.line, 1)
    return Fix(f"insert `{text}`", (Edit(place, f"{text}\n"),))
