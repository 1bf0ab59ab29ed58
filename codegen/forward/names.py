"""What each object is called in the generated forward.

An object has the name that the user's source gives it. Names are bound again where the old object is no longer needed,
as in the source. Where it is needed, and the source has another name for it, it gets that first: `residual = x`. Where
two objects of one name are needed together all the same, the later becomes `name_1`. Names that the source does not
have are never names that it has.
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
from streamsched.codegen.forward.unit import Unit, UnitKind
from streamsched.dsl.program import via
from streamsched.dsl.program.steps import DEFAULT, Program
from streamsched.dsl.trace.model import NONE, Argument, Trace

RESERVED = frozenset({"self", "torch", "torch_npu", "types", "F", "_mismatch", "_", "l", "O", "I", *keyword.kwlist})
"""Names that nothing generated may take: what the file uses itself, and what linters call ambiguous."""

_RESERVED = RESERVED | frozenset(dir(builtins))


@dataclass(frozen=True, slots=True)
class Alias:
    """`new = old`, right before the unit at `place`, which binds `old` to another object than `obj`."""

    place: int
    obj: int
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Names:
    """The names in one forward: of objects, of streams (but `default` and those of process groups) and of events."""

    objects: tuple[int, ...]  # by value
    values: dict[int, str]  # by object, what it is bound to first
    streams: tuple[str, ...]
    events: tuple[str, ...]
    lifetimes: Lifetimes
    aliases: dict[int, list[Alias]]  # by unit
    renamed: dict[int, list[Alias]]  # by object, in order

    def of(self, obj: int, place: int) -> str:
        """What the unit at `place` calls an object; empty for one that no op makes, under its own expression."""
        name = self.values.get(obj, "")
        for alias in self.renamed.get(obj, ()):
            if alias.place < place:
                name = alias.new
        return name


def assign_names(program: Program, trace: Trace, units: tuple[Unit, ...]) -> Names:
    """Name everything that `units` bind, and the streams and events."""
    source = source_names(trace)
    dims = {dim.name for dim in trace.dims}
    taken = {*_RESERVED, *source, *dims}
    own = [stream.name for stream in program.streams[DEFAULT + 1 :] if not stream.of_group]
    streams = _fresh(own, taken, "_stream")
    events = _fresh(via.explicit_events(program), taken, "_event")
    lives = lifetimes(units, trace)
    scribe = _Scribe(trace, units, lives, frozenset(taken), frozenset((*_RESERVED, *streams, *events, *dims)))
    for place, unit in enumerate(units):
        scribe.bind(place, unit)
    renamed: dict[int, list[Alias]] = {}
    for alias in (each for aliases in scribe.aliases.values() for each in aliases):
        renamed.setdefault(alias.obj, []).append(alias)
    return Names(objects(trace), scribe.names, ("", *streams), events, lives, scribe.aliases, renamed)


def source_names(trace: Trace) -> frozenset[str]:
    """The parameters of the scope's forward(), and its locals that hold tensors."""
    held = (name for value in trace.values for name in (value.local, *value.aliases))
    return frozenset(held) | {parameter.name for parameter in trace.parameters} - {""}


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
    aliases: dict[int, list[Alias]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.locals = _locals(self.trace)
        self.bound.update(_given(self.trace, self.lives))
        self.needed = _parameter_uses(self.trace, self.units, frozenset(self.bound.values()))

    def bind(self, place: int, unit: Unit) -> None:
        """Name the objects that `unit` binds."""
        self._make_way(place, unit)
        chosen: dict[str, int] = {}
        module = _last_part(self.trace.calls[unit.call].accessor) if unit.kind is UnitKind.CALL else ""
        for obj in unit.binds:
            if obj in self.lives.last_use:
                name = self._choose(obj, module if len(unit.binds) == 1 else "", place, chosen)
                chosen[name] = obj
                self.names[obj] = name
        self.bound.update(chosen)

    def _make_way(self, place: int, unit: Unit) -> None:
        """Give what has a name that `unit` binds, and is needed behind it, another one that the source has for it."""
        wanted = {self._local(obj) for obj in unit.binds if obj in self.lives.last_use and obj not in self.lives.inline}
        for old in sorted(wanted & self.bound.keys()):
            obj = self.bound[old]
            if self._free(old, True, place) or self.needed.get(old, NONE) > place or self.lives.fixed(obj, place):
                continue
            others = (name for name in self.locals[obj] if name not in wanted and self._free(name, True, place - 1))
            new = next(others, None)
            if new is not None:
                self.aliases.setdefault(place, []).append(Alias(place, obj, old, new))
                self.bound[new] = self.bound.pop(old)

    def _local(self, obj: int) -> str:
        """The local that holds an object first; empty if none does."""
        return next(iter(self.locals[obj]), "")

    def _choose(self, obj: int, module: str, place: int, chosen: dict[str, int]) -> str:
        """The local that holds the object; else the module that returned it, an inner local, the op."""
        value = self.trace.values[obj]
        local = self._local(obj)
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


def _locals(trace: Trace) -> dict[int, list[str]]:
    """By object: the locals of the scope's forward that hold it, under any of its values, in order."""
    found: dict[int, dict[str, None]] = {}
    for value, obj in zip(trace.values, objects(trace), strict=True):
        found.setdefault(obj, {}).update(dict.fromkeys(filter(None, (value.local, *value.aliases))))
    return {obj: list(names) for obj, names in found.items()}


def _given(trace: Trace, lives: Lifetimes) -> dict[str, int]:
    """The tensors that are parameters of forward() themselves, and are used."""
    parameters = {parameter.name for parameter in trace.parameters}
    given = ((trace.values[obj].expression, obj) for obj in lives.last_use)
    return {name: obj for name, obj in given if name in parameters}


def _last_part(accessor: str) -> str:
    """What an accessor reaches, as an identifier: `.mlp.gate` gives `gate`, `.layers[0]` `layers_0`."""
    return identifier(accessor.rsplit(".", 1)[-1])


def _parameter_uses(trace: Trace, units: tuple[Unit, ...], inputs: frozenset[int]) -> dict[str, int]:
    """For each parameter of forward(), the last unit that uses something reached through it, `inputs` left out."""
    last = {parameter.name: NONE for parameter in trace.parameters}
    for place, unit in enumerate(units):
        for text in _expressions(trace, unit, inputs):
            for word in re.findall(r"\w+", text):
                if word in last:
                    last[word] = place
    return last


def _expressions(trace: Trace, unit: Unit, inputs: frozenset[int]) -> Iterator[str]:
    """What may lead through a parameter in a unit: expressions of values but `inputs`, of objects, of the device."""
    for obj in set(unit.uses) - inputs:
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
