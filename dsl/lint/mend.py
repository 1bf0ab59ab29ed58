"""Applying fixes to the text of a schedule, without harm: comments stay, and what could be read can be read after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from streamsched.dsl.diagnostic import Diagnostic, Edit, Fix, Span, apply_edits
from streamsched.dsl.syntax.parser import parse


@dataclass(frozen=True, slots=True)
class Step:
    """A text after some fixes, and how many were applied."""

    text: str
    fixes: int


def steps(text: str, file: str, diagnostics: Iterable[Diagnostic], unsafe: bool) -> Iterator[Step]:
    """What fixes may make of the text of the schedule `file`, best first: many of them together, then each alone.

    Of fixes that touch each other the first is taken: the others are found again in the new text, if they are still
    needed. What puts something in comes before what takes something out, since it may give a use to what has none. A
    fix that changes another file is left to people, and so is one after which the text could not be read.
    """
    faults = _faults(text, file)
    for fixes in _in_turn(applicable(diagnostics, file, unsafe)):
        together = _apart(fixes)
        for some in ([together] if len(together) > 1 else []) + [[fix] for fix in fixes]:
            new = applied(text, [edit for fix in some for edit in fix.edits])
            if new != text and _faults(new, file) <= faults:
                yield Step(new, len(some))


def applicable(diagnostics: Iterable[Diagnostic], file: str, unsafe: bool) -> list[Fix]:
    """The fixes that change `file` alone, in the order of the text; safe ones only unless `unsafe`."""
    fixes = dict.fromkeys(d.fix for d in diagnostics if d.fix is not None and (d.fix.safe or unsafe))
    own = [fix for fix in fixes if all(edit.span.file == file for edit in fix.edits)]
    return sorted(own, key=lambda fix: min(edit.span for edit in fix.edits))


def _in_turn(fixes: Sequence[Fix]) -> Iterator[list[Fix]]:
    """The fixes that put something in, then those that only take something out."""
    yield [fix for fix in fixes if not _takes_out(fix)]
    yield [fix for fix in fixes if _takes_out(fix)]


def _takes_out(fix: Fix) -> bool:
    """Whether a fix leaves nothing in place of what it takes out but comments."""
    lines = (line.strip() for edit in fix.edits for line in edit.text.split("\n"))
    return all(not line or line.startswith("#") for line in lines)


def _faults(text: str, file: str) -> int:
    """How many statements of a text cannot be read."""
    parsed = parse(text, file)
    return 0 if parsed.complete else sum(diagnostic.code == "SYN101" for diagnostic in parsed.diagnostics)


def _apart(fixes: Sequence[Fix]) -> list[Fix]:
    """The first of `fixes`, and each that touches none before it."""
    taken: list[Fix] = []
    for fix in fixes:
        if not any(_touch(edit.span, other.span) for edit in fix.edits for each in taken for other in each.edits):
            taken.append(fix)
    return taken


def _touch(one: Span, other: Span) -> bool:
    """Whether two spans have a place in common, be it where one ends and the other begins."""
    return _start(one) <= _end(other) and _start(other) <= _end(one)


def _start(span: Span) -> tuple[int, int]:
    return span.line, span.column


def _end(span: Span) -> tuple[int, int]:
    return span.end_line, span.end_column


def applied(text: str, edits: Iterable[Edit]) -> str:
    """`text` with `edits` applied. What is taken out leaves neither an empty line nor space behind."""
    lines = text.split("\n")
    return apply_edits(text, tuple(_tidy(edit, lines) for edit in edits))


def _tidy(edit: Edit, lines: list[str]) -> Edit:
    span = edit.span
    whole_lines = span.end_column == 1 and span.end_line > span.line
    if edit.text or whole_lines or span.end_line > len(lines):
        return edit
    before, after = lines[span.line - 1][: span.column - 1], lines[span.end_line - 1][span.end_column - 1 :]
    first, last = len(before.rstrip()), span.end_column - 1 + len(after) - len(after.lstrip())
    if not after.strip() and not before.strip() and span.end_line < len(lines):
        return Edit(Span(span.file, span.line, 1, span.end_line + 1, 1), "")
    if not after.strip():
        return Edit(Span(span.file, span.line, first + 1, span.end_line, span.end_column + len(after)), "")
    if not before.strip() and after.lstrip().startswith("#"):
        return Edit(Span(span.file, span.line, span.column, span.end_line, last + 1), "")
    return edit
