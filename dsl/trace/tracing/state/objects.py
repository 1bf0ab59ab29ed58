"""The objects that forward() is called with: a cache is passed on by its name, and what is put into it is noted."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from operator import is_
from typing import Any

import torch

from streamsched.dsl.trace.tracing.accessors import children, has_attributes, is_dict, nested

ABSENT = object()
"""What a place held that was not there."""

_CONSTANTS = (bool, int, float, str, bytes, torch.dtype, torch.device)


@dataclass(frozen=True, slots=True)
class Put:
    """Something that forward() left in one of its arguments: `target` is the attribute or item that holds it.

    `before` is what it held at entry, or `ABSENT`. `calls` are the module calls whose own code put something there;
    `since` and `until` are the moments when that was first and last noticed.
    """

    target: str
    value: Any
    before: Any
    calls: tuple[int, ...]
    since: int
    until: int


@dataclass(slots=True)
class _Noticed:
    """By whom, and when, a place was seen to hold something else than before."""

    calls: list[int] = field(default_factory=list)
    moments: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Holder:
    """An object with attributes or items, what it held at entry, and what when it was last looked at.

    `inside` is the place in an argument where an object is that was not given.
    """

    expression: str
    owner: Any
    inside: str
    before: dict[str, Any]
    now: dict[str, Any]
    held: tuple[Any, ...]


class InputObjects:
    """The arguments of the scope's forward(), and all that can be reached in them."""

    def __init__(self) -> None:
        self._given: dict[str, Any] = {}  # kept, so that no id is given away
        self._names: dict[int, str] = {}
        self._holders: dict[int, _Holder] = {}
        self._noticed: dict[str, _Noticed] = {}

    def enter(self, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Note the arguments of a call of `forward`."""
        self._given = dict(inspect.signature(forward).bind_partial(*args, **kwargs).arguments)
        for name, value in self._given.items():
            self._watch(name, value, "")
        self._names = {key: holder.expression for key, holder in self._holders.items()}

    def _watch(self, name: str, value: Any, inside: str) -> None:
        for expression, item in nested(name, value):
            if id(item) not in self._holders and (isinstance(item, list) or is_dict(item) or has_attributes(item)):
                now = dict(children(item))
                self._holders[id(item)] = _Holder(expression, item, inside, now, now, _held(item))

    def name(self, value: object) -> str | None:
        """The expression of an object that was given and can be changed; None for tensors, tuples and constants."""
        return self._names.get(id(value))

    def plain(self) -> Iterator[tuple[str, Any]]:
        """The constants that can be reached in the arguments at entry, devices left out, with their expressions."""
        for holder in self._holders.values():
            for step, value in holder.before.items():
                place = holder.expression + step
                for expression, item in nested(place, value) if isinstance(value, tuple) else [(place, value)]:
                    if item is None or (isinstance(item, _CONSTANTS) and not isinstance(item, torch.device)):
                        yield expression, item

    def observe(self, call: int, moment: int) -> None:
        """Note what the objects hold now: what is new was put there by the code of `call`."""
        for holder in list(self._holders.values()):
            held = _held(holder.owner)
            if len(held) == len(holder.held) and all(map(is_, held, holder.held)):
                continue
            now = dict(children(holder.owner))
            for step in {**holder.now, **now}:
                if now.get(step, ABSENT) is not holder.now.get(step, ABSENT):
                    place = holder.inside or holder.expression + step
                    noticed = self._noticed.setdefault(place, _Noticed())
                    noticed.calls.append(call)
                    noticed.moments.append(moment)
                    self._watch(holder.expression + step, now.get(step), place)
            holder.held, holder.now = held, now

    def puts(self) -> Iterator[Put]:
        """What the given objects hold now, and did not hold at entry."""
        for holder in self._holders.values():
            for step, value in holder.now.items():
                before = holder.before.get(step, ABSENT)
                place = holder.expression + step
                if not holder.inside and place in self._noticed and not _is_same(before, value):
                    noticed = self._noticed[place]
                    calls = tuple(dict.fromkeys(noticed.calls))
                    yield Put(place, value, before, calls, noticed.moments[0], noticed.moments[-1])

    def reshaped(self) -> tuple[str, ...]:
        """The given objects that no assignment brings to what they hold now: lists of another length, say."""
        return tuple(h.expression for h in self._holders.values() if not h.inside and _is_reshaped(h))


def _held(owner: Any) -> tuple[Any, ...]:
    if isinstance(owner, list):
        return tuple(owner)
    return tuple(owner.values() if is_dict(owner) else vars(owner).values())


def _is_same(before: Any, after: Any) -> bool:
    """Whether a place holds what it held: the same object, or an equal constant."""
    if before is after:
        return True
    return type(before) is type(after) and isinstance(after, _CONSTANTS) and repr(before) == repr(after)


def _is_reshaped(holder: _Holder) -> bool:
    if isinstance(holder.owner, list):
        return len(holder.now) != len(holder.before)
    return not holder.before.keys() <= holder.now.keys()
