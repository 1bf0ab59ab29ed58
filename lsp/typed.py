"""The statement that is being typed: its text up to the cursor, which need not parse."""

from __future__ import annotations

import re
from dataclasses import dataclass

from streamsched.dsl.syntax.source import Source
from streamsched.dsl.syntax.statements import Piece, Remark, cut

_WORD = re.compile(r"\w*$")
_GOES_ON = tuple(",|&-.=>")


@dataclass(frozen=True, slots=True)
class Typed:
    """What stands before the cursor in its statement.

    `text` is the statement so far, without the word or string at the cursor; `word` is that word, or what stands in
    that string. `keyword` is the word before the string.
    """

    text: str
    word: str
    in_string: bool
    keyword: str = ""


def typed(text: str, offset: int) -> Typed | None:
    """What is being typed at `offset` of `text`; None in a comment."""
    before = text[:offset]
    pieces = list(cut(Source(before, "")))
    if any(piece.end == offset for piece in pieces if isinstance(piece, Remark)):
        return None
    last = next((piece for piece in reversed(pieces) if isinstance(piece, Piece)), None)
    so_far = "" if last is None or _ended(before, last) else before[last.start :]
    quotes = re.sub(r'"(?:[^"\\\r\n]|\\[^\r\n])*"', lambda match: "_" * len(match[0]), so_far)
    if '"' in quotes:
        start = quotes.rindex('"')
        keyword = _WORD.search(so_far[:start].rstrip())
        return Typed(so_far[:start], so_far[start + 1 :], True, keyword[0] if keyword else "")
    word = _WORD.search(so_far)
    assert word is not None
    return Typed(so_far[: word.start()], word[0], False)


def _ended(before: str, piece: Piece) -> bool:
    """Whether a newline has ended the statement."""
    if "\n" not in before[piece.end :]:
        return False
    open_bracket = piece.fault is not None and piece.fault.message.endswith("is never closed")
    return not open_bracket and not before[: piece.end].endswith(_GOES_ON)
