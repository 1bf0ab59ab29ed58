"""Colours for terminals: what is painted is a role in a report, never a colour by name."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import IO


class Role(enum.Enum):
    """The part that a piece of text plays; the value is its ANSI attributes."""

    ERROR = "1;31"
    WARNING = "1;33"
    INFO = "1;36"
    TITLE = "1"
    GUTTER = "34"
    ADDED = "32"
    REMOVED = "31"
    NOTE = "1;34"


def paint(text: str, role: Role, colour: bool) -> str:
    """`text` in the colour of `role`, or as it is without `colour`."""
    return f"\x1b[{role.value}m{text}\x1b[0m" if colour and text else text


def wants_colour(stream: IO[str], environment: Mapping[str, str]) -> bool:
    """Whether text written to `stream` may be coloured: a capable terminal, and no NO_COLOR."""
    if environment.get("NO_COLOR") or environment.get("TERM") == "dumb":
        return False
    return stream.isatty()
