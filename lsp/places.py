"""Positions: the server's are a line and a column from 1, in characters; an editor's count from 0, in UTF-16 units."""

from __future__ import annotations

from dataclasses import dataclass

from lsprotocol.types import Position, Range
from pygls.workspace import PositionCodec

from streamsched.dsl.diagnostic import Span


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place between two characters of a text."""

    line: int
    column: int

    def inside(self, span: Span) -> bool:
        """Whether the place lies in `span` or at its end, where a cursor behind the last character stands."""
        return (span.line, span.column) <= (self.line, self.column) <= (span.end_line, span.end_column)


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of one text, each with its end, and how its editor counts."""

    lines: tuple[str, ...]
    codec: PositionCodec

    def place(self, position: Position) -> Place:
        """The place of an editor's position."""
        line = min(position.line, max(len(self.lines) - 1, 0))
        found = self.codec.position_from_client_units(self.lines, Position(line, position.character))
        return Place(found.line + 1, found.character + 1)

    def range(self, span: Span) -> Range:
        """An editor's range for a span of this text."""
        return Range(self.position(span.line, span.column), self.position(span.end_line, span.end_column))

    def position(self, line: int, column: int) -> Position:
        """An editor's position for a line and a column of this text; what lies beyond the text is its end."""
        if line > len(self.lines):
            return Position(line - 1, 0)
        before = self.lines[line - 1][: column - 1]
        return Position(line - 1, int(self.codec.client_num_units(before)))
