"""The text of a schedule with its lines, and faults in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from streamsched.dsl.diagnostic import Edit, Fix, Span

_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Source:
    """The text of one file. Offsets count characters from 0; spans count lines and columns from 1."""

    text: str
    file: str
    starts: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        starts = (0, *(end.end() for end in _LINE_END.finditer(self.text)))
        object.__setattr__(self, "starts", starts)

    def span(self, start: int, end: int) -> Span:
        """The span of `text[start:end]`."""
        line, column = self._position(start)
        end_line, end_column = self._position(end)
        return Span(self.file, line, column, end_line, end_column)

    def _position(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that keeps text from being a statement: what is wrong and where, and what to type instead."""

    span: Span
    message: str
    help: str | None = None
    fix: Fix | None = None


def replacing(message: str, *edits: tuple[Span, str], safe: bool = True) -> Fix:
    """The fix that replaces each span by the text beside it."""
    return Fix(message, tuple(Edit(span, text) for span, text in edits), safe)
