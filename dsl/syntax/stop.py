"""The place in a statement where the parser stopped."""

from __future__ import annotations

import re
from dataclasses import dataclass

from streamsched.dsl.syntax.source import Fault, Source, replacing

_FOUND = re.compile(r'"(?:[^"\\\r\n]|\\[^\r\n])*"|[^\W\d]\w*|-?[0-9]+|->|\.\.|.', re.DOTALL)
_WORD = re.compile(r"[^\W\d]\w*")
_LAST_WORD = re.compile(r"[^\W\d]\w*(?=\s*$)")


@dataclass(frozen=True, slots=True)
class Stop:
    """`at` is the offset of what the parser did not expect in `source.text[start:end]`, a statement.

    `accepted` are the terminals that it would have taken.
    """

    source: Source
    start: int
    end: int
    at: int
    accepted: frozenset[str]

    @property
    def before(self) -> str:
        """The statement up to here."""
        return self.source.text[self.start : self.at]

    @property
    def rest(self) -> str:
        """The statement from here on."""
        return self.source.text[self.at : self.end]

    @property
    def found(self) -> str:
        """The token that was not expected; empty at the end of the statement."""
        match = _FOUND.match(self.source.text, self.at, self.end)
        return match[0] if match else ""

    @property
    def word(self) -> str:
        """What was found, where it is a word; else empty."""
        return self.found if _WORD.fullmatch(self.found) else ""

    @property
    def head(self) -> str:
        """The statement's first word, or an empty string."""
        match = _WORD.match(self.source.text, self.start, self.end)
        return match[0] if match else ""

    @property
    def last_word(self) -> str:
        """The word right before this place, or an empty string."""
        match = _LAST_WORD.search(self.before[-200:])
        return match[0] if match else ""

    @property
    def gap(self) -> int:
        """The offset where the token before this place ends."""
        return self.start + len(self.before.rstrip())

    def fault(self, message: str, help: str | None = None) -> Fault:
        """A fault of the token found here."""
        return Fault(self.source.span(self.at, self.at + len(self.found)), message, help)

    def replacement(
        self, start: int, end: int, text: str, message: str, help: str | None = None, safe: bool = True
    ) -> Fault:
        """A fault of the text from `start` to `end`, with the fix to put `text` there; an empty stretch inserts."""
        span = self.source.span(start, end)
        old = " ".join(self.source.text[start:end].split())
        if start == end:
            what = f"insert `{text.strip()}`"
        elif not text:
            what = f"remove `{old}`"
        elif text == "\n":
            what = "begin a new line"
        else:
            what = f"replace `{old}` by `{text}`"
        return Fault(span, message, help, replacing(what, (span, text), safe=safe))
