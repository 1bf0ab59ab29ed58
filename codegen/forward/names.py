"""What each object is called in the generated forward.

An object has the name that the user's source gives it. Names are bound again where the old object is no longer needed,
as in the source; where two objects of one name are needed together, the later becomes `name_1`. Names that the source
does not have are never names that it has.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from streamsched.codegen.forward.device import located, located_expression
from streamsched.codegen.forward.lifetimes import Lifetimes, lifetimes
from streamsched.codegen.forward.objects import objects
from streamsched.codegen.forward.trees import texts
from streamsched.codegen.forward.units import Unit, UnitKind
from streamsched.dsl.program import via
from streamsched.dsl.program.steps import DEFAULT, Program
from streamsched.dsl.trace.model import NONE, Argument, Trace

RESERVED = frozenset({"self", "torch", "torch_npu", "types", "F", "_mismatch", "_", "l", "O", "I", *keyword.kwlist})
"""Names that nothing generated may take: what the file uses itself, and what linters call ambiguous."""

_RESERVED = RESERVED | frozenset(dir(builtins))


@dataclass(frozen=True, slots=True)
class Names:
    """The names in one forward: of objects, of streams (but `default` and those of process groups) and of events."""

    objects: tuple[int, ...]  # by value
    values: dict[int, str]  # by object
    streams: tuple[str, ...]
    events: tuple[str, ...]
    lifetimes: Lifetimes

    def __call__(self, value: int) -> str:
        """The name of a value that an op makes."""
        return self.values[self.objects[value]]


def assign_names(program: Program, trace: Trace, units: tuple[Unit, ...]) -> Names:
    """Name everything that `units` bind, and the streams and events."""
    source = {value.local for value in trace.values} | {parameter.name for parameter in trace.parameters} - {""}
    dims = {dim.name for dim in trace.dims}
    taken = set(_RESERVED | source | dims)
    own = [stream.name for stream in program.streams[DEFAULT + 1 :] if not stream.of_group]
    streams = _fresh(own, taken, "_stream")
    events = _fresh(via.explicit_events(program), taken, "_event")
    lives = lifetimes(units, trace)
    scribe = _Scribe(trace, units, lives, frozenset(taken), frozenset((*_RESERVED, *streams, *events, *dims)))
    for place, unit in enumerate(units):
        scribe.bind(place, unit)
    return Names(objects(trace), scribe.names, ("", *streams), events, lives)


def identifier(text: str) -> str:
    """`text` as an identifier."""
    if text.isidentifier() and text.strip("_"):
        return text
    found = re.sub(r"\W+", "_", text).strip("_") or "value"
    return f"_{found}" if found[0].isdigit() else found


def _fresh(wanted: Iterable[str], taken: set[str], suffix: str) -> tuple[str, ...]:
    """A name for each of `wanted` that is not taken, which takes it."""
    names: list[str] = []
    for text in wanted:
        name = identifier(text)
        if name in taken:
            name = _numbered(f"{name}{suffix}", taken)
        taken.add(name)
        names.append(name)
    return tuple(names)


def _numbered(name: str, taken: set[str]) -> str:
    number = 0
    found = name
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    return found


@dataclass
class _Scribe:
    trace: Trace
    units: tuple[Unit, ...]
    lives: Lifetimes
    source: frozenset[str]  # names that a temporary may not take
    reserved: frozenset[str]  # names that nothing may take
    names: dict[int, str] = field(default_factory=dict)
    bound: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.needed = _parameter_uses(self.trace, self.units)
        self.locals = _locals(self.trace)

    def bind(self, place: int, unit: Unit) -> None:
        """Name the objects that `unit` binds."""
        chosen: dict[str, int] = {}
        module = _last_part(self.trace.calls[unit.call].accessor) if unit.kind is UnitKind.CALL else ""
        for obj in unit.binds:
            if obj in self.lives.last_use:
                name = self._choose(obj, module if len(unit.binds) == 1 else "", place, chosen)
                chosen[name] = obj
                self.names[obj] = name
        self.bound.update(chosen)

    def _choose(self, obj: int, module: str, place: int, chosen: dict[str, int]) -> str:
        """The local that holds the object; else the module that returned it, an inner local, the op."""
        value = self.trace.values[obj]
        local = self.locals.get(obj, "")
        base = identifier(local or module or value.inner or value.name)
        number = 0
        name = base
        while name in chosen or not self._free(name, bool(local) and not number, place):
            number += 1
            name = f"{base}_{number}"
        return name

    def _free(self, name: str, local: bool, place: int) -> bool:
        """Whether `name` can be bound at `place`; `local` tells that the source calls the object so."""
        if name in self.needed and local:
            if self.needed[name] > place:
                return False
        elif name in self.reserved or (name in self.source and not local):
            return False
        return name not in self.bound or self.lives.last_use[self.bound[name]] <= place


def _locals(trace: Trace) -> dict[int, str]:
    """By object: the first local of the scope's forward that holds it, under any of its values."""
    found: dict[int, str] = {}
    for value, obj in zip(trace.values, objects(trace), strict=True):
        if value.local:
            found.setdefault(obj, value.local)
    return found


def _last_part(accessor: str) -> str:
    """What an accessor reaches, as an identifier: `.mlp.gate` gives `gate`, `.layers[0]` `layers_0`."""
    return identifier(accessor.rsplit(".", 1)[-1])


def _parameter_uses(trace: Trace, units: tuple[Unit, ...]) -> dict[str, int]:
    """For each parameter of forward(), the last unit that uses something reached through it."""
    last = {parameter.name: NONE for parameter in trace.parameters}
    for place, unit in enumerate(units):
        for text in _expressions(trace, unit):
            for word in re.findall(r"\w+", text):
                if word in last:
                    last[word] = place
    return last


def _expressions(trace: Trace, unit: Unit) -> Iterator[str]:
    """The expressions in a unit that may lead through a parameter: of values, of objects, of the device."""
    for obj in unit.uses:
        yield located_expression(trace.values[obj].expression, trace)
    given: list[Argument] = []
    if unit.kind is UnitKind.CALL:
        call = trace.calls[unit.call]
        given = [*call.args, *(argument for _, argument in call.kwargs)]
    elif unit.kind in (UnitKind.ASSIGN, UnitKind.RETURN):
        yield unit.place
        given = [unit.result]
    for argument in given:
        yield from texts(located(argument, trace))
