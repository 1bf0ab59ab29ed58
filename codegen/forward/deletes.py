"""Where names are deleted: behind the step that frees the memory which they hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from streamsched.codegen.forward.names import Names
from streamsched.codegen.forward.objects import owned
from streamsched.codegen.forward.unit import Unit, UnitKind
from streamsched.dsl.trace.model import Trace


def find_deletes(
    units: tuple[Unit, ...], names: Names, trace: Trace, inlined: frozenset[int]
) -> tuple[tuple[str, ...], ...]:
    """Behind each unit, the names to delete: every alias of memory that ends there.

    Left out are names that the next statement binds again, unless a wait comes before it, and all that die right
    before the return. `inlined` are the objects that are never bound to a name.
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
    holders: dict[int, list[int]] = field(default_factory=dict)  # by storage, the objects in it, as bound
    ending: dict[int, list[int]] = field(default_factory=dict)  # by unit, objects that outlive the end of their memory

    def behind(self, place: int, unit: Unit) -> tuple[str, ...]:
        """The names to delete behind one unit."""
        self.bound.update({alias.new: alias.obj for alias in self.names.aliases.get(place, ())})
        for obj in self._named(unit):
            self.bound[self.names.values[obj]] = obj
            for storage in owned(self.trace, obj):
                self.holders.setdefault(storage, []).append(obj)
        dead = self.ending.pop(place, [])
        for obj in self.holders.pop(unit.storage, ()) if unit.kind is UnitKind.FREE else ():
            last_use = self.names.lifetimes.last_use[obj]
            if last_use <= place:
                dead.append(obj)
            else:
                self.ending.setdefault(last_use, []).append(obj)
        return tuple(self._deleted(dead, place)) if place < self.names.lifetimes.last_run else ()

    def _deleted(self, dead: list[int], place: int) -> Iterator[str]:
        """The names of what is dead, where a name is bound to it still and does not get bound again at once."""
        for obj in dead:
            name = self.names.of(obj, place + 1)
            if self.bound.get(name) == obj and not self._bound_next(name, place):
                del self.bound[name]
                yield name

    def _named(self, unit: Unit) -> list[int]:
        return [obj for obj in unit.binds if obj in self.names.values and obj not in self.inlined]

    def _bound_next(self, name: str, place: int) -> bool:
        """Whether the next statement binds `name` again, and no wait lies between: memory is freed in its order."""
        for following, unit in enumerate(self.units[place + 1 :], start=place + 1):
            if unit.kind is UnitKind.WAIT:
                return False
            if unit.kind in (UnitKind.OP, UnitKind.CALL):
                named = self._named(unit)
                if named or unit.runs:
                    aliases = (alias.new for alias in self.names.aliases.get(following, ()))
                    return name in (*aliases, *(self.names.values[obj] for obj in named))
        return False
