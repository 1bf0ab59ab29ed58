"""From lark's errors to words for people."""

from __future__ import annotations

from lark.exceptions import UnexpectedInput

from streamsched.dsl.syntax.source import Fault, Source
from streamsched.dsl.syntax.statements import Piece


def explain(source: Source, piece: Piece, error: UnexpectedInput) -> Fault:
    """What is wrong with the statement `piece` of `source`, where lark stopped with `error`."""
    position = piece.start + error.pos_in_stream
    return Fault(source.span(position, position), "syntax error")
