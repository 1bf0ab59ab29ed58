"""Pieces of source text with the place that matters underlined, as they appear under a diagnostic.

Columns of a `Span` count characters; what is printed counts terminal cells. Tabs are widened, control characters made
visible, wide characters take two cells and combining marks none. A line too long for a terminal is cut to a window
around the place.
"""

from __future__ import annotations

from dataclasses import dataclass

from streamsched.dsl.diagnostic import Span

TAB = 4
WIDTH = 160
"""Cells of a source line that are shown at most."""
MOST_LINES = 6
"""Lines of a span that are shown at most; the middle of a longer one is left out."""
_ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class Line:
    """A source line as printed and the marks to print under it. `number` 0 stands for lines that were left out."""

    number: int
    text: str
    marks: str


def source_lines(text: str) -> list[str]:
    """The lines of `text` as spans count them: only newlines separate, a last empty line counts."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def excerpt(lines: list[str], span: Span, mark: str = "^") -> list[Line]:
    """The lines of `span` out of `lines`, each with its part of the span underlined by `mark`.

    An empty span is marked by one caret. A span past the end of the text is shown at the last line's end; no text at
    all gives no lines.
    """
    if not lines:
        return []
    first = min(span.line, len(lines))
    last = min(_last_line(span), len(lines))
    numbers = list(range(first, last + 1))
    if len(numbers) > MOST_LINES:
        numbers = [*numbers[: MOST_LINES - 2], 0, numbers[-1]]
    return [_line(lines, number, span, mark) if number else Line(0, "", "") for number in numbers]


def _last_line(span: Span) -> int:
    """The last line that the span covers: one that ends in column 1 covers nothing of its last line."""
    return span.end_line - 1 if span.end_line > span.line and span.end_column == 1 else span.end_line


def _line(lines: list[str], number: int, span: Span, mark: str) -> Line:
    text = lines[number - 1]
    start = span.column - 1 if number == span.line else len(text) - len(text.lstrip())
    end = span.end_column - 1 if number == span.end_line else len(text)
    if number < span.line:  # the span begins past the end of the text
        start = end = len(text)
    start = min(start, len(text))
    end = max(min(end, len(text)), start)
    text, start, end = _window(text, start, end)
    before, marked = printable(text[:start]), printable(text[start:end], cells(printable(text[:start])))
    rest = printable(text[end:], cells(before) + cells(marked))
    return Line(number, (before + marked + rest).rstrip(), " " * cells(before) + mark * max(cells(marked), 1))


def _window(text: str, start: int, end: int) -> tuple[str, int, int]:
    """A long line cut to a window around `start`, with the positions in the cut line."""
    if len(text) <= WIDTH:
        return text, start, end
    left = max(0, min(start - WIDTH // 4, len(text) - WIDTH))
    right = min(left + WIDTH, len(text))
    head = _ELLIPSIS if left else ""
    tail = _ELLIPSIS if right < len(text) else ""
    shift = len(head) - left
    return head + text[left:right] + tail, start + shift, min(end, right) + shift


def printable(text: str, column: int = 0) -> str:
    """`text` as a terminal may print it, beginning in cell `column`: no tabs, no control characters."""
    if text.isascii() and text.isprintable():
        return text
    shown: list[str] = []
    for character in text:
        if character == "\t":
            character = " " * (TAB - column % TAB)
        elif character < " ":
            character = chr(0x2400 + ord(character))  # the pictures of control characters
        elif not character.isprintable() and character != "\u3000":
            character = "\ufffd"
        shown.append(character)
        column += cells(character)
    return "".join(shown)


def cells(text: str) -> int:
    """How many cells of a terminal `text` takes."""
    if text.isascii():
        return len(text)
    import unicodedata

    def width(character: str) -> int:
        if unicodedata.combining(character):
            return 0
        return 2 if unicodedata.east_asian_width(character) in "WF" else 1

    return sum(width(character) for character in text)
