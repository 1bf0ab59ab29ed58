"""Comments that suppress findings, in schedules and in Python files.

    B -> merge          # streamsched: ignore[ORD104] kept for the reader
    # streamsched: ignore[ORD101, MEM101] measured: the caller waits
    value "mm" on side

Behind a statement, or inside of one, a comment speaks of that statement; on a line of its own, of the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamsched.dsl.diagnostic import Diagnostic, Span
from streamsched.dsl.syntax.tree import Comment, Schedule

if TYPE_CHECKING:
    import ast

MARK = "streamsched:"
"""What every such comment contains: a text without it has none."""

_WORD = r"ignore\b(?!-)|[\w-]+(?=\s*[\[=]|\s+[A-Z]{3}\d{3}\b)|(?!unknown\b)[a-zA-Z][\w-]*(?=\s*(?:#|$))|(?=\s*(?:#|$))"
"""What a comment asks for: `ignore`, or a word alone, or before brackets or a code, that others take for the like. What
generated code says, its version, and prose ask for nothing."""

_COMMENT = re.compile(
    rf"#+\s*streamsched:\s*(?P<word>{_WORD})\s*(?:\[(?P<codes>[^\]]*)\])?\s*(?P<reason>.*?)\s*(?=#+\s*streamsched:|$)"
)
_CODE = re.compile(r"[^\s,]+")


@dataclass(frozen=True, slots=True)
class Code:
    """A rule's code where a comment names it."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Ignore:
    """A comment at `span` that suppresses the findings of some rules that begin on the lines `first` to `last`.

    `word` is what it asks for, `ignore` unless it was misspelled. Without brackets it names no rule. Other comments
    that begin so, like the version in generated code, ask for nothing and are none of these.
    """

    span: Span
    word: str
    codes: tuple[Code, ...]
    reason: str
    first: int
    last: int

    def covers(self, diagnostic: Diagnostic, code: Code) -> bool:
        """Whether `code`, one of its own, suppresses a finding."""
        place = diagnostic.span
        here = place.file == self.span.file and self.first <= place.line <= self.last
        return here and code.text == diagnostic.code


@dataclass(frozen=True, slots=True)
class Suppressed:
    """The findings that are left, in their order, and the codes that suppressed nothing."""

    left: tuple[Diagnostic, ...]
    unused: tuple[tuple[Ignore, Code], ...]


def suppress(found: Iterable[Diagnostic], ignores: Sequence[Ignore]) -> Suppressed:
    """Take out of `found` what one of `ignores` suppresses."""
    everything = tuple(found)
    codes = [(ignore, code) for ignore in ignores if ignore.word == "ignore" for code in ignore.codes]
    hidden: set[Diagnostic] = set()
    unused = []
    for ignore, code in codes:
        covered = [diagnostic for diagnostic in everything if ignore.covers(diagnostic, code)]
        hidden.update(covered)
        if not covered:
            unused.append((ignore, code))
    return Suppressed(tuple(each for each in everything if each not in hidden), tuple(unused))


def in_schedule(schedule: Schedule) -> list[Ignore]:
    """The comments of a schedule that suppress findings."""
    spans = [statement.span for statement in schedule.statements]
    return _ignores(schedule.comments, [_Lines(span.line, span.end_line) for span in spans])


def in_python(text: str, file: str) -> list[Ignore]:
    """Those of a Python file. Of a compound statement, a comment speaks of the head. No Python has none."""
    if MARK not in text:
        return []
    import ast  # only what has such a comment is read
    import io
    import tokenize

    try:
        tree = ast.parse(text)
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (SyntaxError, ValueError, tokenize.TokenError):
        return []
    comments = []
    for token in tokens:
        if token.type == tokenize.COMMENT:
            (line, start), (_, end) = token.start, token.end
            own_line = not token.line[:start].strip()
            comments.append(Comment(token.string, own_line, span=Span(file, line, start + 1, line, end + 1)))
    return _ignores(comments, [_lines(node) for node in ast.walk(tree) if isinstance(node, ast.stmt)])


@dataclass(frozen=True, slots=True, order=True)
class _Lines:
    """The lines of a statement; of a compound one those before its body, comments among them."""

    first: int
    last: int
    compound: bool = False


def _lines(node: ast.stmt) -> _Lines:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    first = min((each.lineno for each in decorators), default=node.lineno)
    bodies = [each for name in ("body", "cases") for each in getattr(node, name, ())]
    if not bodies:
        return _Lines(first, node.end_lineno or node.lineno)
    body = getattr(bodies[0], "pattern", bodies[0])
    return _Lines(first, max(node.lineno, body.lineno - 1), True)


def _ignores(comments: Iterable[Comment], statements: list[_Lines]) -> list[Ignore]:
    found = []
    for comment in comments:
        if MARK in comment.text:
            lines = _lines_of(comment, statements)
            found += [_ignore(comment.span, m, lines.first, lines.last) for m in _COMMENT.finditer(comment.text)]
    return found


def _lines_of(comment: Comment, statements: list[_Lines]) -> _Lines:
    """The lines that a comment speaks of."""
    line = comment.span.line
    holding = [each for each in statements if each.first <= line <= each.last]
    if comment.own_line:
        holding = [each for each in holding if not each.compound]
        return max(holding, default=min((e for e in statements if e.first > line), default=_Lines(line, line)))
    return max(holding, default=_Lines(line, line))


def _ignore(comment: Span, match: re.Match[str], first: int, last: int) -> Ignore:
    def place(start: int, end: int) -> Span:
        return Span(comment.file, comment.line, comment.column + start, comment.line, comment.column + end)

    begin, listed = match.start("codes"), match["codes"] or ""
    codes = tuple(Code(w[0], place(begin + w.start(), begin + w.end())) for w in _CODE.finditer(listed))
    return Ignore(place(*match.span()), match["word"], codes, match["reason"].strip(), first, last)
