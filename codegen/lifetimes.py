"""How long the forward needs each object, in places of its units."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from streamsched.codegen.objects import owned
from streamsched.codegen.units import Unit, UnitKind
from streamsched.dsl.trace.model import NONE, OpKind, Trace

NEVER = 1 << 60
"""The place of what does not happen."""


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """`last_use[object]` is the last unit that uses it (absent if none does). `free[object]` is the unit by which all
    memory that it holds may be freed: NONE if it holds none, NEVER if forward() returns some of it.

    `inline` gives, for the views that can be written inside the one statement that uses them, that statement's unit.
    `next_run[unit]` is the first unit behind it that launches or allocates.
    """

    last_use: dict[int, int]
    free: dict[int, int]
    inline: dict[int, int]
    next_run: tuple[int, ...]

    def free_after(self, obj: int, unit: int) -> bool:
        """Whether dropping `obj` right after `unit` frees no memory that something behind it still needs."""
        free = self.free[obj]
        return free <= unit or free < self.next_run[unit]


def lifetimes(units: tuple[Unit, ...], trace: Trace) -> Lifetimes:
    """The lifetimes of all objects that units bind."""
    users: dict[int, list[int]] = {}
    freed: dict[int, int] = {}
    for place, unit in enumerate(units):
        for obj in unit.uses:
            users.setdefault(obj, []).append(place)
        if unit.kind is UnitKind.FREE:
            freed[unit.storage] = place
    inline = {
        obj: users[obj][0]
        for unit in units
        for obj in unit.binds
        if len(users.get(obj, ())) == 1 and _inlines(unit, obj, units[users[obj][0]], trace)
    }
    last_use = {obj: places[-1] for obj, places in users.items()}
    for place in range(len(units) - 1, NONE, -1):
        for obj in units[place].binds:
            if obj in inline:  # what it is made from must be there where it is written
                for source in units[place].uses:
                    last_use[source] = max(last_use[source], last_use[obj])
    free = {
        obj: max((freed.get(storage, NEVER) for storage in owned(trace, obj)), default=NONE)
        for unit in units
        for obj in unit.binds
    }
    return Lifetimes(last_use, free, inline, _next_runs(units))


def _inlines(unit: Unit, obj: int, user: Unit, trace: Trace) -> bool:
    """Whether `obj` is a view that the user's source never named, so that it can be written where it is used."""
    if unit.kind is not UnitKind.OP or trace.ops[unit.op].kind is not OpKind.VIEW:
        return False
    value = trace.values[obj]
    return not (value.local or value.inner) and user.kind in _STATEMENTS and unit.binds == (obj,)


_STATEMENTS = frozenset({UnitKind.OP, UnitKind.CALL, UnitKind.RETURN})


def _next_runs(units: Iterable[Unit]) -> tuple[int, ...]:
    found: list[int] = []
    following = NEVER
    for place, unit in reversed(list(enumerate(units))):
        found.append(following)
        if unit.runs:
            following = place
    return tuple(reversed(found))
