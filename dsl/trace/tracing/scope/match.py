"""Two traces of modules in scope side by side: are they one op sequence, up to constants?"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, TypeAlias

from streamsched.dsl.trace.model import NONE, Assignment, Literal, ModuleCall, Op, Opaque, Ref, Storage, Trace, Value

Place: TypeAlias = tuple[str | int, ...]
"""The way from a trace to a constant in it: names of fields, and indices of tuples. An index in a value's expression
(`cache.layers[3].keys`) is counted from 0 by a last step."""

INDEX = re.compile(r"\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class Difference:
    """What tells two traces apart, and the first op of each that does (NONE where it is no op)."""

    what: str
    ops: tuple[int, int] = (NONE, NONE)


@dataclass(slots=True)
class Match:
    """How another trace is the same as `base`: its `values` by those of the base, and, by their place in the base, the
    constants that differ: the text in the base and the other's."""

    values: dict[int, int] = field(default_factory=dict)
    constants: dict[Place, tuple[str, str]] = field(default_factory=dict)


def match(base: Trace, other: Trace) -> Match | Difference:
    """How `other` is the same as `base`, or what differs first."""
    pairing = _Pairing(base, other)
    try:
        pairing.traces()
    except _DifferenceError as differs:
        return Difference(differs.what, pairing.at)
    return Match(pairing.values, pairing.constants)


class _DifferenceError(Exception):
    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


_IGNORED = {
    (Op, "name"), (Op, "stack"), (Value, "name"), (Storage, "name"), (Storage, "nbytes"), (ModuleCall, "flags"),
    (ModuleCall, "constants"),
}  # fmt: skip
"""Names that torch gives, lines that issue the same op, what steered Python to the same ops or was computed with, and
how large a storage is beyond the tensors in it, whose layouts are compared."""


_APART = frozenset(
    ["determined_by", "torch_version", "python_version", "ops", "inputs", "values", "storages", "statements",
     "positions", "stacks", "sources", "warnings", "digest", "scope", "objects", "constants", "told"]
)  # fmt: skip
"""Fields of a trace that are compared where ops, calls and results lead to them, or that do not matter."""

_WORDS = {
    (Trace, "root"): "their classes",
    (Trace, "calls"): "how modules are called",
    (Trace, "result"): "what forward() returns",
    (Trace, "parameters"): "the parameters of forward()",
    (ModuleCall, "args"): "the arguments of a call",
    (ModuleCall, "kwargs"): "the arguments of a call",
    (Op, "call"): "the module that issues it",
}


class _Pairing:
    """The values and storages of two traces that correspond, found while both are walked in step."""

    def __init__(self, base: Trace, other: Trace) -> None:
        self.at = (NONE, NONE)
        self.values: dict[int, int] = {}
        self.constants: dict[Place, tuple[str, str]] = {}
        self._base = base
        self._other = other
        self._values_back: dict[int, int] = {}
        self._storages: dict[int, int] = {}
        self._storages_back: dict[int, int] = {}

    def traces(self) -> None:
        """Raise `_DifferenceError` at the first difference."""
        base, other = self._base, self._other
        for index, (mine, its) in enumerate(zip_longest(base.ops, other.ops)):
            self.at = (index if mine else NONE, index if its else NONE)
            if mine is None or its is None:
                raise _DifferenceError(f"there are {len(base.ops)} ops and {len(other.ops)} ops")
            if mine.target != its.target:
                raise _DifferenceError(f"`{mine.target}` and `{its.target}`")
            self._dataclass(mine, its, ("ops", index))
        self.at = (NONE, NONE)
        for name in (f.name for f in dataclasses.fields(Trace)):
            if name not in _APART:
                self._walk(getattr(base, name), getattr(other, name), (name,), _words(Trace, name))
        self._objects()

    def _objects(self) -> None:
        """What only one of them reaches, such as what the layers before it have left in a cache, may be anything."""
        its = dict(self._other.objects)
        for path, name in self._base.objects:
            if its.get(path, name) != name:
                raise _DifferenceError(f"the class of `{path}` is `{name}` and `{its[path]}`")

    def _walk(self, mine: Any, its: Any, place: Place, what: str) -> None:
        if isinstance(mine, Literal) and isinstance(its, Literal):
            if mine.text != its.text:
                self.constants[place] = (mine.text, its.text)
        elif type(mine) is not type(its):
            raise _DifferenceError(f"{what}: {_spelled(mine)} and {_spelled(its)}")
        elif isinstance(mine, Ref) and _is_in_input(place):
            pass  # compared where something uses it: each module uses another layer of one cache
        elif isinstance(mine, Ref):
            self._value(mine.value, its.value, what)
        elif dataclasses.is_dataclass(mine):
            self._dataclass(mine, its, place)
        elif isinstance(mine, tuple):
            if len(mine) != len(its):
                raise _DifferenceError(what)
            for index, (one, another) in enumerate(zip(mine, its, strict=True)):
                self._walk(one, another, (*place, index), what)
        elif mine != its:
            raise _DifferenceError(f"{what}: {mine} and {its}")

    def _dataclass(self, mine: Any, its: Any, place: Place) -> None:
        for name in (f.name for f in dataclasses.fields(mine)):
            one, another = getattr(mine, name), getattr(its, name)
            what = _words(type(mine), name)
            match (type(mine), name):
                case key if key in _IGNORED:
                    pass
                case (cls, "reads" | "writes" | "storages") if cls in (Op, Value):
                    self._lie_in(one, another, what)
                case (cls, "same_object") if cls is Value:
                    self._same_object(one, another)
                case (cls, "statement") if cls is Op:
                    self._statement(one, another)
                case (cls, "call") if cls is Op:
                    self._walk(self._base.calls[one].label, self._other.calls[another].label, place, what)
                case (cls, "expression" | "target") if cls in (Value, Assignment):
                    self._expression(one, another, (*place, name))
                case _:
                    self._walk(one, another, (*place, name), what)

    def _value(self, mine: int, its: int, what: str) -> None:
        known = mine in self.values
        if self.values.setdefault(mine, its) != its or self._values_back.setdefault(its, mine) != mine:
            raise _DifferenceError(f"{what}: `{self._base.values[mine].name}` is another tensor")
        if known:
            return
        one, another = self._base.values[mine], self._other.values[its]
        if _layout(one) != _layout(another):
            name = one.expression or one.local or one.name
            raise _DifferenceError(f"`{name}` is {_layout(one)} and {_layout(another)}")
        self._dataclass(one, another, ("values", mine))

    def _same_object(self, mine: int, its: int) -> None:
        if (mine == NONE) != (its == NONE):
            raise _DifferenceError("which object is updated in place")
        if mine != NONE:
            self._value(mine, its, "which object is updated in place")

    def _lie_in(self, mine: tuple[int, ...], its: tuple[int, ...], what: str) -> None:
        if len(mine) != len(its):
            raise _DifferenceError(what)
        for one, another in zip(mine, its, strict=True):
            pairs = self._storages.setdefault(one, another), self._storages_back.setdefault(another, one)
            if pairs != (another, one):
                raise _DifferenceError(what)
            self._dataclass(self._base.storages[one], self._other.storages[another], ("storages", one))

    def _statement(self, mine: int, its: int) -> None:
        one = self._base.statements[mine] if mine != NONE else None
        another = self._other.statements[its] if its != NONE else None
        if one != another:
            raise _DifferenceError("the statement of forward() that issues it")

    def _expression(self, mine: str, its: str, place: Place) -> None:
        """Expressions may differ in indices: that of a layer in a cache."""
        one, another = INDEX.split(mine), INDEX.split(its)
        if one[::2] != another[::2]:
            raise _DifferenceError(f"a tensor that is `{mine}` and `{its}`")
        for number, (index, other) in enumerate(zip(one[1::2], another[1::2], strict=True)):
            if index != other:
                self.constants[(*place, number)] = (index, other)


def _is_in_input(place: Place) -> bool:
    """Whether a place is inside a container that forward() is called with."""
    return place[:3] in (("calls", 0, "args"), ("calls", 0, "kwargs")) and len(place) > (4 if place[2] == "args" else 5)


def _layout(value: Value) -> str:
    return f"{value.dtype}[{', '.join(map(str, value.shape))}]"


def _words(cls: type, name: str) -> str:
    owner = f"{'an' if cls is Op else 'a'} {cls.__name__.lower()}"
    return _WORDS.get((cls, name), f"the {name.replace('_', ' ')} of {owner}")


def _spelled(argument: Any) -> str:
    if isinstance(argument, Ref):
        return "a tensor"
    if isinstance(argument, Literal | Opaque):
        return f"`{argument.text}`"
    return f"a {type(argument).__name__.lower()}"
