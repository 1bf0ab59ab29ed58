"""What forward() is given that codegen must know by its class: what inputs and assignments are reached through."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from streamsched.dsl.trace.tracing.accessors import children, has_attributes, is_dict, nested

_STEPS = re.compile(r"""\w+(?:\.\w+|\["(?:[^"\\]|\\.)*"\]|\['(?:[^'\\]|\\.)*'\])*""")


def ways(given: Mapping[str, Any], inputs: Iterable[str], targets: Iterable[str]) -> list[str]:
    """Expressions whose owners codegen asks for: those of the inputs; those of what is assigned to, up to the first
    list on the way (an item need not stand for all of them); and those of what is in an object inside a container, and
    in a dict with numbers for keys, which could be a list.

    `given` are the arguments by parameter.
    """
    found = [*inputs, *map(_around, targets)]
    for name, value in given.items():
        found += (f"{place}.__class__" for place in _contained(name, value))
        found += (f"{place}[0]" for place, item in nested(name, value) if _has_numbers_for_keys(item))
    return found


def _around(target: str) -> str:
    match = _STEPS.match(target)
    return match[0] if match else target


def _contained(place: str, value: Any) -> Iterator[str]:
    """The objects in a container of the arguments, or in containers in it."""
    for step, item in children(value) if isinstance(value, list | tuple) or is_dict(value) else ():
        if has_attributes(item):
            yield place + step
        yield from _contained(place + step, item)


def _has_numbers_for_keys(value: Any) -> bool:
    return is_dict(value) and any(isinstance(key, int) for key in value)
