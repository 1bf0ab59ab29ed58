"""How long the forward needs each object, in places of its units."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from streamsched.codegen.forward.unit import Unit, UnitKind
from streamsched.dsl.trace.model import NONE, Ref, Trace


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """`last_use[object]` is the last unit that uses it (absent if none does).

    `inline` gives, for the objects that can be written inside the one statement that uses them, that statement's unit.
    `last_run` is the last unit that launches or allocates. `written_later` gives, for what such objects are made from,
    the stretches of units between which its name is in a text that is not written yet.

    Memory needs no more than this: whatever uses a storage later does so through an object in it that is bound by now,
    so that an object behind its last use never holds the last of what is still needed.
    """

    last_use: dict[int, int]
    inline: dict[int, int]
    last_run: int
    written_later: dict[int, tuple[tuple[int, int], ...]]

    def fixed(self, obj: int, place: int) -> bool:
        """Whether a text that is made before the unit at `place` may be written behind it with an object's name."""
        return any(first < place < last for first, last in self.written_later.get(obj, ()))


def lifetimes(units: tuple[Unit, ...], trace: Trace) -> Lifetimes:
    """The lifetimes of all objects that units bind."""
    users: dict[int, list[int]] = {}
    for place, unit in enumerate(units):
        for obj in unit.uses:
            users.setdefault(obj, []).append(place)
    inline = {
        obj: users[obj][0]
        for unit in units
        for obj in unit.binds
        if len(users.get(obj, ())) == 1 and _inlines(unit, units[users[obj][0]], trace)
    }
    last_use = {obj: places[-1] for obj, places in users.items()}
    written_later: dict[int, tuple[tuple[int, int], ...]] = {}
    for place, unit in reversed([*enumerate(units)]):
        for obj in unit.binds:
            if obj in inline:  # what it is made from must be there where it is written
                for source in unit.uses:
                    last_use[source] = max(last_use[source], last_use[obj])
                    written_later[source] = (*written_later.get(source, ()), (place, last_use[obj]))
                for marked in _marked(units[place : inline[obj]]):  # its record_stream is printed behind the statement
                    last_use[marked] = max(last_use[marked], last_use[obj] + 1)
    last_run = max((place for place, unit in enumerate(units) if unit.runs), default=NONE)
    return Lifetimes(last_use, inline, last_run, written_later)


def _marked(units: Iterable[Unit]) -> Iterator[int]:
    """The objects that have a record_stream."""
    return (obj for unit in units if unit.kind is UnitKind.RECORD_STREAM for obj in unit.uses)


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
