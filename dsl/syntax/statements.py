"""Cutting a text into statements and comments.

A statement ends at a newline; newlines inside brackets and after `, -> | & - .. =` end nothing. Cutting first and
parsing each statement for itself is what lets the parser recover at statement ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from streamsched.dsl.syntax.source import Fault, Source, replacing

NESTING_LIMIT = 100
"""How deep brackets may nest."""

LENGTH_LIMIT = 100_000
"""How many characters a statement may have."""

_TOKEN = re.compile(
    r"""(?P<newline> \r\n | \r | \n )
      | (?P<space>   [ \t\f\ufeff]+ )
      | (?P<comment> \#[^\r\n]* )
      | (?P<string>  "(?:[^"\\\r\n]|\\[^\r\n])*" )
      | (?P<torn>    "[^\r\n]* )
      | (?P<open>    [(\[{] )
      | (?P<close>   [)\]}] )
      | (?P<arrow>   -> )
      | (?P<more>    \.\. | [,|&=-] )
      | (?P<word>    [^\W\d]\w* )
      | (?P<other>   . )
    """,
    re.VERBOSE,
)
_DECLARATION = re.compile(
    r"[ \t]*(?:schedule|model|fakes|scope|inputs?|leaf|target|device|sync|memory|stream|group|world|cost)"
    r"[ \t]+(?!(?:on|before)\b)[\w\"]"
)
_DECLARATION_LINE = re.compile(rf"^{_DECLARATION.pattern}", re.MULTILINE)
_SPACE = " \t\f\ufeff"
_CLOSING = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True, slots=True)
class Piece:
    """The text of one statement, from its first to its last token, and what is wrong with it as a whole."""

    start: int
    end: int
    fault: Fault | None = None


@dataclass(frozen=True, slots=True)
class Remark:
    """The place of one comment. `own_line` tells that nothing but space stands before it on its line."""

    start: int
    end: int
    own_line: bool


def cut(source: Source) -> Iterator[Piece | Remark]:
    """Cut `source` into statements and comments; a comment inside a statement comes before it."""
    cutter = _Cutter(source)
    position = 0
    while position < len(source.text):
        position = cutter.step(position)
        yield from cutter.taken()
    cutter.end_statement()
    yield from cutter.taken()


class _Cutter:
    """Where a scan of the text stands: the statement at hand, its open brackets, and what has just been cut off."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.cut_off: list[Piece | Remark] = []
        self.line = 0  # where the line at hand starts
        self._begin()

    def _begin(self) -> None:
        self.start: int | None = None  # of the statement at hand
        self.end = 0  # of its last token
        self.end_above = 0  # of its last token above the line at hand
        self.brackets: list[int] = []
        self.continued = False  # the last token lets the statement go on behind a newline
        self.fault: Fault | None = None

    def taken(self) -> list[Piece | Remark]:
        """What has been cut off since the last call."""
        taken, self.cut_off = self.cut_off, []
        return taken

    def step(self, position: int) -> int:
        """Take the token at `position`; return where to go on."""
        match = _TOKEN.match(self.source.text, position)
        assert match is not None, position
        kind = match.lastgroup
        if kind == "newline":
            self._newline(match.end())
        elif kind == "comment":
            own_line = not self.source.text[self.line : position].strip(_SPACE)
            self.cut_off.append(Remark(position, match.end(), own_line))
        elif kind != "space":
            return self._token(match)
        return match.end()

    def _newline(self, position: int) -> None:
        goes_on = self.brackets or self.continued
        if not goes_on or _DECLARATION.match(self.source.text, position):
            self.end_statement()
        self.line = position
        self.end_above = self.end

    def _token(self, match: re.Match[str]) -> int:
        if self._cannot_stand_in_brackets(match):
            self.end = self.end_above
            self.end_statement()
            return self.line
        if self.start is None:
            self.start = match.start()
        self.end = match.end()
        self.continued = match.lastgroup in ("arrow", "more")
        if match.lastgroup == "open":
            self.brackets.append(match.start())
        elif match.lastgroup == "close" and self.brackets:
            self.brackets.pop()
        elif match.lastgroup == "torn":
            self._unclosed_string(match)
        if len(self.brackets) > NESTING_LIMIT or self.end - self.start > LENGTH_LIMIT:
            return self._too_much(self.start, match)
        return match.end()

    def _cannot_stand_in_brackets(self, match: re.Match[str]) -> bool:
        """An edge or a placement: on a later line than an open bracket, it shows that the bracket was never closed."""
        if not self.brackets or self.brackets[-1] >= self.line:
            return False
        return match.lastgroup == "arrow" or match[0] in ("on", "before")

    def end_statement(self) -> None:
        """Cut off the statement at hand, if there is one."""
        if self.start is not None:
            if self.brackets:
                self._unclosed_bracket(self.brackets[-1])
            self.cut_off.append(Piece(self.start, self.end, self.fault))
        self._begin()

    def _too_much(self, start: int, match: re.Match[str]) -> int:
        """End a statement that is too deep or too long for the parser; go on at the next line that declares."""
        if len(self.brackets) > NESTING_LIMIT:
            message = f"brackets are nested more than {NESTING_LIMIT} deep"
            self.fault = Fault(self.source.span(*match.span()), message, "name parts of it with `group NAME = ...`")
        else:
            message = f"this statement is longer than {LENGTH_LIMIT:,} characters"
            self.fault = Fault(self.source.span(start, start + 1), message, "name parts of it with `group NAME = ...`")
        self.end_statement()
        following = _DECLARATION_LINE.search(self.source.text, match.end())
        self.line = following.start() if following else len(self.source.text)
        return self.line

    def _unclosed_string(self, match: re.Match[str]) -> None:
        if self.fault is None:
            span = self.source.span(*match.span())
            fix = replacing('close the string with `"`', (span.end, '"'), safe=False)
            advice = 'a string ends with `"` on the line it began on'
            self.fault = Fault(span, "this string is never closed", advice, fix)

    def _unclosed_bracket(self, bracket: int) -> None:
        if self.fault is None:
            opening = self.source.text[bracket]
            closing = _CLOSING[opening]
            fix = replacing(f"insert `{closing}`", (self.source.span(self.end, self.end), closing), safe=False)
            span = self.source.span(bracket, bracket + 1)
            self.fault = Fault(span, f"`{opening}` is never closed", f"close it with `{closing}`", fix)
