"""The checks of the items of a list as one check of the list: those of every layer of a cache."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from streamsched.codegen.guards.check import Check
from streamsched.codegen.guards.places import STRING
from streamsched.dsl.trace.model import Trace

_ITEM = re.compile(rf"(?<![\w.])(?P<owner>[A-Za-z_]\w*(?:\.\w+|\[(?:{STRING})\])*)\[(?P<place>\d+)\]|{STRING}")
"""The first item of a list on the way to a place; or a text, in which nothing is looked for."""
_KEYED = ("dict", "OrderedDict", "defaultdict", "Counter", "ChainMap", "UserDict", "mappingproxy")
"""The classes whose items are reached by keys, which may be numbers."""


@dataclass(frozen=True, slots=True)
class _Item:
    owner: str
    place: int
    text: str


def is_item(expression: str) -> bool:
    """Whether a place is in an item of a list."""
    return next(_items(expression), None) is not None


def grouped(trace: Trace, found: Iterable[Check]) -> Iterator[Check]:
    """The checks with those of all items of a list as one, in place of the first of them."""
    found = tuple(dict.fromkeys(found))
    length = _lengths(trace, found)
    each = "item" if all(parameter.name != "item" for parameter in trace.parameters) else "each"
    members: dict[tuple[str, str], list[Check]] = {}
    for check in found:
        members.setdefault(_key(check), []).append(check)
    for (owner, _), alike in members.items():
        together = _together(owner, alike, each) if owner and len(alike) == length.get(owner) else None
        yield from alike if together is None else [together]


def _lengths(trace: Trace, found: tuple[Check, ...]) -> dict[str, int]:
    """How many items each list has, as far as the trace and the checks tell; dicts are left out."""
    inputs = (trace.values[index].expression for index in trace.inputs)
    known = (*inputs, *(path for path, _ in (*trace.constants, *trace.objects)), *(check.found for check in found))
    most: dict[str, int] = {}
    for item in (item for text in known for item in _items(text)):
        most[item.owner] = max(most.get(item.owner, 0), item.place + 1)
    keyed = {path for path, name in trace.objects if name in _KEYED}
    compared = {check.found for check in found}
    return {owner: count for owner, count in most.items() if owner not in keyed and f"{{*{owner}}}" not in compared}


def _items(text: str) -> Iterator[_Item]:
    for match in _ITEM.finditer(text):
        if match["owner"]:
            yield _Item(match["owner"], int(match["place"]), match[0])


def _key(check: Check) -> tuple[str, str]:
    """The list whose item a check is about, and the check with that item left out."""
    item = next(_items(check.found), None)
    return ("", check.what) if item is None else (item.owner, _put(check.found, item, ""))


def _put(text: str, item: _Item, other: str) -> str:
    """A text with another expression in the place of an item of a list."""
    pattern = rf"(?<![\w.]){re.escape(item.text)}|{STRING}"
    return re.sub(pattern, lambda match: other if match[0] == item.text else match[0], text)


def _together(owner: str, alike: list[Check], each: str) -> Check | None:
    """One check of all items of the list `owner`, with `each` for one of them; None where `alike` are not about all."""
    items = [next(_items(check.found)) for check in alike]
    if [item.place for item in items] != [*range(len(items))]:
        return None
    first, traced = alike[0], [_put(check.traced, item, each) for check, item in zip(alike, items, strict=True)]
    runs = [(text, len([*same])) for text, same in groupby(traced)]
    if any(text != check.traced for text, check in zip(traced, alike, strict=True)):
        if len(runs) > 1:
            return None
        expected = f"[{traced[0]} for {each} in {owner}]"
    else:
        expected = " + ".join(f"[{text}]{f' * {count}' if count > 1 else ''}" for text, count in runs)
    found = f"[{_put(first.found, items[0], each)} for {each} in {owner}]"
    what, said = (_put(text, items[0], f"{owner}[:]") for text in (first.what, first.said))
    return Check(what, found, expected, said if len(runs) == 1 else f"{what} = {expected}")
