"""The checks of the items of a list as one check of the list: those of every layer of a cache."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from streamsched.codegen.guards.check import Check
from streamsched.dsl.trace.model import Trace

_ITEM = re.compile(r"([A-Za-z_][\w.]*)\[(\d+)\]")
_WORD = re.compile(r"[A-Za-z_]\w*")


def is_item(expression: str) -> bool:
    """Whether a place is in an item of a list."""
    return _ITEM.search(expression) is not None


def lengths(trace: Trace, found: Iterable[Check]) -> dict[str, int]:
    """How many items each list has, as far as the trace and the checks tell."""
    inputs = (trace.values[index].expression for index in trace.inputs)
    known = (*inputs, *(path for path, _ in (*trace.constants, *trace.objects)), *(check.found for check in found))
    most: dict[str, int] = {}
    for owner, place in (item for text in known for item in _ITEM.findall(text)):
        most[owner] = max(most.get(owner, 0), int(place) + 1)
    return most


def grouped(found: Iterable[Check], length: dict[str, int]) -> Iterator[Check]:
    """The checks with those of all items of a list as one, in place of the first of them."""
    members: dict[tuple[str, str], list[Check]] = {}
    for check in found:
        members.setdefault(_key(check), []).append(check)
    for (owner, _), alike in members.items():
        together = _together(owner, alike) if owner and len(alike) == length[owner] else None
        yield from alike if together is None else [together]


def _key(check: Check) -> tuple[str, str]:
    """The list whose item a check is about, and the check with `item` in place of that item."""
    match = _ITEM.search(check.found)
    if match is None:
        return "", check.what
    return match[1], check.found.replace(match[0], "item")


def _together(owner: str, alike: list[Check]) -> Check | None:
    """One check of all items of the list `owner`; None where `alike` are not about all of them."""
    if [f"{owner}[{place}]" for place in range(len(alike))] != [_item(check) for check in alike]:
        return None
    first = alike[0]
    traced = [check.traced.replace(_item(check), "item") for check in alike]
    runs = [(text, len([*same])) for text, same in groupby(traced)]
    if any("item" in _WORD.findall(text) for text in traced):
        if len(runs) > 1:
            return None
        expected = f"[{traced[0]} for item in {owner}]"
    else:
        expected = " + ".join(f"[{text}]{f' * {count}' if count > 1 else ''}" for text, count in runs)
    found = f"[{first.found.replace(_item(first), 'item')} for item in {owner}]"
    what, said = (text.replace(_item(first), f"{owner}[:]") for text in (first.what, first.said))
    return Check(what, found, expected, said if len(runs) == 1 else f"{what} = {expected}")


def _item(check: Check) -> str:
    match = _ITEM.search(check.found)
    assert match is not None, check
    return match[0]
