"""Where names are deleted: behind the step that frees the memory which they hold."""

from __future__ import annotations

from dataclasses import dataclass, field

from streamsched.codegen.lifetimes import NEVER
from streamsched.codegen.names import Names
from streamsched.codegen.objects import owned
from streamsched.codegen.units import Unit, UnitKind
from streamsched.dsl.trace.model import Trace


def find_deletes(
    units: tuple[Unit, ...], names: Names, trace: Trace, inlined: frozenset[int]
) -> tuple[tuple[str, ...], ...]:
    """Behind each unit, the names to delete: every alias of memory that ends there.

    Left out are names that the next statement binds again, and all that die right before the return. `inlined` are the
    objects that are never bound to a name.
    """
    scan = _Scan(units, names, trace, inlined)
    return tuple(scan.behind(place, unit) for place, unit in enumerate(units))


@dataclass
class _Scan:
    units: tuple[Unit, ...]
    names: Names
    trace: Trace
    inlined: frozenset[int]
    bound: dict[str, int] = field(default_factory=dict)
    holders: dict[int, dict[str, None]] = field(default_factory=dict)  # by storage, in the order of binding
    freed: set[int] = field(default_factory=set)
    ending: dict[int, list[str]] = field(default_factory=dict)  # by place, names whose last use is there

    def behind(self, place: int, unit: Unit) -> tuple[str, ...]:
        """The names to delete behind one unit."""
        for obj in self._named(unit):
            self._bind(self.names.values[obj], obj)
        candidates = self.ending.pop(place, [])
        if unit.kind is UnitKind.FREE:
            self.freed.add(unit.storage)
            candidates = [*candidates, *self.holders.get(unit.storage, ())]
        if self.names.lifetimes.next_run[place] == NEVER:
            return ()
        dead: list[str] = []
        for name in dict.fromkeys(candidates):
            if self._dies(name, place):
                self._drop(name)
                dead.append(name)
        return tuple(name for name in dead if not self._bound_next(name, place))

    def _named(self, unit: Unit) -> list[int]:
        return [obj for obj in unit.binds if obj in self.names.values and obj not in self.inlined]

    def _bind(self, name: str, obj: int) -> None:
        self._drop(name)
        self.bound[name] = obj
        self.ending.setdefault(self.names.lifetimes.last_use[obj], []).append(name)
        for storage in owned(self.trace, obj):
            self.holders.setdefault(storage, {})[name] = None

    def _drop(self, name: str) -> None:
        if name in self.bound:
            for storage in owned(self.trace, self.bound.pop(name)):
                del self.holders[storage][name]

    def _dies(self, name: str, place: int) -> bool:
        """Whether `name` is needed no more and some of its memory is free, and other names hold the rest."""
        obj = self.bound.get(name)
        if obj is None or self.names.lifetimes.last_use[obj] > place:
            return False
        alive = [storage for storage in owned(self.trace, obj) if storage not in self.freed]
        if len(alive) == len(owned(self.trace, obj)):
            return False
        return not alive or (obj not in self.names.relied and all(len(self.holders[s]) > 1 for s in alive))

    def _bound_next(self, name: str, place: int) -> bool:
        """Whether the next statement binds `name` again."""
        for unit in self.units[place + 1 :]:
            if unit.kind in (UnitKind.OP, UnitKind.CALL):
                named = self._named(unit)
                if named or unit.runs:
                    return any(self.names.values[obj] == name for obj in named)
        return False
