"""Slips in names; see `slips`."""

from __future__ import annotations

import re

from streamsched.dsl.syntax.source import Fault
from streamsched.dsl.syntax.stop import Stop

NAMES_HELP = "names are made of ASCII letters, digits and `_`, and begin with no digit"

_BEGUN = re.compile(r"\w*$")
_WORD = re.compile(r"\w+")
_UP = re.compile(r"\.\.\s*$")
_TEXT = re.compile(r"[^\s,;={}#]+")
_NAMING = frozenset({"schedule", "target", "device", "stream", "group", "cost"})


def foreign_letter(stop: Stop) -> Fault | None:
    """A letter of another alphabet, where a name stands or could go on."""
    letter = stop.found[:1]
    begun = _BEGUN.search(stop.before)
    assert begun is not None
    if letter.isascii() or not letter.isalnum() or not (begun[0] or "NAME" in stop.accepted):
        return None
    start = stop.start + begun.start()
    word = _WORD.match(stop.source.text, start, stop.end)
    assert word is not None
    span = stop.source.span(start, word.end())
    whole = f": `{word[0]}`" if word[0] != letter else ""
    return Fault(span, f"`{letter}` cannot be part of a name{whole}", NAMES_HELP)


def path_as_name(stop: Stop) -> Fault | None:
    """`schedule ../x` reads as the beginning of a range from a group that is called `schedule`."""
    up = _UP.search(stop.before)
    if up is None or stop.head not in _NAMING or stop.before[: up.start()].strip() != stop.head:
        return None
    start = stop.start + up.start()
    text = _TEXT.match(stop.source.text, start, stop.end)
    assert text is not None
    return Fault(stop.source.span(start, text.end()), f"expected a name, found `{text[0]}`", NAMES_HELP)
