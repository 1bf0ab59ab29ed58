"""How long the forward needs each object, in places of its units."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from streamsched.codegen.objects import owned
from streamsched.codegen.units import Unit, UnitKind
from streamsched.dsl.trace.model import NONE, Ref, Trace

NEVER = 1 << 60
"""The place of what does not happen."""


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """`last_use[object]` is the last unit that uses it (absent if none does). `free[object]` is the unit by which all
    memory that it holds may be freed: NONE if it holds none, NEVER if forward() returns some of it.

    `inline` gives, for the objects that can be written inside the one statement that uses them, that statement's unit.
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
    next_run = _next_runs(units)
    free = {
        obj: max((freed.get(storage, NEVER) for storage in owned(trace, obj)), default=NONE)
        for unit in units
        for obj in unit.binds
    }
    inline: dict[int, int] = {}
    for unit in units:
        for obj in unit.binds:
            places = users.get(obj, ())
            if len(places) == 1 and _inlines(unit, units[places[0]], trace):
                user = places[0]
                returned = units[user].kind is UnitKind.RETURN
                if returned or not unit.runs or free[obj] < next_run[user]:
                    inline[obj] = user
    last_use = {obj: places[-1] for obj, places in users.items()}
    for place in range(len(units) - 1, NONE, -1):
        for obj in units[place].binds:
            if obj in inline:  # what it is made from must be there where it is written
                for source in units[place].uses:
                    last_use[source] = max(last_use[source], last_use[obj])
    return Lifetimes(last_use, free, inline, next_run)


def _inlines(unit: Unit, user: Unit, trace: Trace) -> bool:
    """Whether what `unit` makes was an unnamed part of the user's statement, so that it can be written there again.

    Of module calls, each keeps a line of its own.
    """
    if len(unit.binds) != 1 or not isinstance(unit.result, Ref) or user.kind not in _STATEMENTS:
        return False
    value = trace.values[unit.binds[0]]
    if value.local or value.inner or unit.kind is user.kind is UnitKind.CALL:
        return False
    if user.kind is UnitKind.RETURN:
        of_return = unit.origin.statement != NONE and "return" in trace.statements[unit.origin.statement].binds
        return not unit.runs or (unit.stream == user.stream and of_return and not unit.origin.groups)
    return not unit.runs or (unit.stream == user.stream and unit.origin == user.origin)


_STATEMENTS = frozenset({UnitKind.OP, UnitKind.CALL, UnitKind.RETURN})


def _next_runs(units: Iterable[Unit]) -> tuple[int, ...]:
    found: list[int] = []
    following = NEVER
    for place, unit in reversed(list(enumerate(units))):
        found.append(following)
        if unit.runs:
            following = place
    return tuple(reversed(found))
