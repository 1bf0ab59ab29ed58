"""Whether the texts of a saved trace are what generated code and messages may hold. Many are looked at together."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from streamsched.dsl.trace.dims import is_expression

_PLAIN = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\d{1,9}\])*|-?\d{1,18}|'[\w .-]*'")
"""The most frequent expressions, which need no parser."""

LONGEST = 100_000
"""How many characters an expression may have."""


def lines(texts: Iterable[str]) -> None:
    """Raise TypeError unless all are texts, ValueError unless each is on one line and can be written as UTF-8."""
    joined = "".join(texts)
    joined.encode()
    if "\0" in joined or len(joined.splitlines()) > 1:
        raise ValueError("no line of text")


def identifiers(texts: Iterable[str]) -> set[str]:
    """The texts, each once. Raises unless all are names in Python."""
    found = set(texts)
    if not all(map(str.isidentifier, found)):
        raise ValueError("no name")
    return found


def expressions(texts: Iterable[str]) -> None:
    """Raise unless all are Python expressions."""
    found = set(texts)
    lines(found)
    for text in found:
        if _PLAIN.fullmatch(text) is None:
            _parse(text)


def sizes(found: Iterable[int | str], known: frozenset[str]) -> None:
    """Raise unless all are sizes: whole numbers, or expressions over the dims `known`."""
    given = set(found)
    kinds = {*map(type, given)}
    if not kinds <= {int, str}:
        raise TypeError("no size")
    texts = [size for size in given if isinstance(size, str)]
    lines(texts)
    if not all(is_expression(text, known) for text in texts):
        raise ValueError("no size")


def _parse(text: str) -> None:
    if len(text) > LONGEST:
        raise ValueError("too long an expression")
    try:
        ast.parse(text, mode="eval")
    except (SyntaxError, RecursionError, MemoryError):
        raise ValueError("no expression") from None
