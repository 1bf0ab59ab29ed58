"""Bounds of integer inputs, as the user writes them: `ids=0..31999`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from streamsched.dsl.nearest import did_you_mean

_RANGE = re.compile(r"\s*(\S.*?)\s*=\s*(-?\d+)\s*\.\.\s*(-?\d+)\s*")


@dataclass(frozen=True, slots=True)
class Range:
    """The input `name` holds integers from `low` to `high`, both included."""

    name: str
    low: int
    high: int

    def __post_init__(self) -> None:
        assert self.low <= self.high, self


def parse_range(text: str) -> Range:
    """The range that `text` spells. Raises ValueError, with what to type instead."""
    match = _RANGE.fullmatch(text)
    if match is None:
        raise ValueError(f'`{text}` is no range; write NAME=LOW..HIGH, such as "ids=0..31999"')
    name, low, high = match[1], int(match[2]), int(match[3])
    if low > high:
        raise ValueError(f"`{text}` holds no integer; write the lower end first: {name}={high}..{low}")
    return Range(name, low, high)


def unknown_input(name: str, known: Iterable[str]) -> str:
    """What to say of a range for an input that there is not."""
    names = list(known)
    advice = did_you_mean(name, names) or f"the inputs are {', '.join(names)}"
    return f"--range: there is no input `{name}`; {advice}"
