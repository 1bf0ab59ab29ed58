"""Globs over dotted paths: `*` is one segment (or a part of one), `**` any number of segments, `{x,y}` alternatives,
`{3..60}` a range of numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

_TOKEN = re.compile(r"(\*\*\.)|(\.\*\*$)|(\*\*)|(\*)|\{([^{}]*)\}|([^*{}]+|[{}])")
_RANGE = re.compile(r"(\d+)\.\.(\d+)")


@lru_cache(maxsize=512)
def compile_glob(glob: str) -> re.Pattern[str]:
    """The regular expression that matches, in full, what `glob` matches."""
    return re.compile("".join(_translate(match) for match in _TOKEN.finditer(glob)))


def _translate(match: re.Match[str]) -> str:
    leading, trailing, anything, segment, braces, text = match.groups()
    if leading:
        return r"(?:[^.]+\.)*"
    if trailing:
        return r"(?:\.[^.]+)*"
    if anything:
        return ".*"
    if segment:
        return "[^.]*"
    if braces is not None:
        return "(?:" + "|".join(_alternative(part.strip()) for part in braces.split(",")) + ")"
    return re.escape(text)


def _alternative(part: str) -> str:
    numbers = _RANGE.fullmatch(part)
    if numbers is None:
        return re.escape(part).replace(r"\*", "[^.]*")
    return "|".join(_range(int(numbers[1]), int(numbers[2]))) or "(?!)"


def _range(first: int, last: int) -> Iterator[str]:
    """The regular expressions of the numbers from `first` to `last`: `[3-9]`, `[1-5][0-9]`, `60`."""
    while first <= last:
        end = min(last, 10 ** len(str(first)) - 1)
        yield from _of_length(str(first), str(end))
        first = end + 1


def _of_length(first: str, last: str) -> Iterator[str]:
    """The same for numbers of as many digits."""
    rest = len(first) - 1
    if not rest:
        yield _digits(first, last)
        return
    if first[0] == last[0]:
        yield from (first[0] + tail for tail in _of_length(first[1:], last[1:]))
        return
    low, high = int(first[0]), int(last[0])
    if first[1:] != "0" * rest:
        yield from _of_length(first, first[0] + "9" * rest)
        low += 1
    whole = high if last[1:] == "9" * rest else high - 1
    if low <= whole:
        yield _digits(str(low), str(whole)) + "[0-9]" * rest
    if whole < high:
        yield from _of_length(last[0] + "0" * rest, last)


def _digits(first: str, last: str) -> str:
    return first if first == last else f"[{first}-{last}]"
