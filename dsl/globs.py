"""Globs over dotted paths: `*` is one segment (or a part of one), `**` any number of segments, `{x,y}` alternatives,
`{3..60}` a range of numbers.
"""

from __future__ import annotations

import re
from functools import lru_cache

_TOKEN = re.compile(r"(\*\*\.)|(\.\*\*$)|(\*\*)|(\*)|\{([^{}]*)\}|([^*{}]+|[{}])")
_RANGE = re.compile(r"(\d+)\.\.(\d+)")

LARGEST_RANGE = 100_000
"""A range in braces spells at most this many numbers."""


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
    first, last = int(numbers[1]), int(numbers[2])
    return "|".join(str(n) for n in range(first, min(last, first + LARGEST_RANGE) + 1)) or "(?!)"
