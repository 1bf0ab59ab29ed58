"""Which names of forward() an op updates in place, wherever it was issued: also in what forward() calls."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict

from streamsched.dsl.trace.collectives import WAIT
from streamsched.dsl.trace.model import NONE, Op, OpKind, Trace, refs


def updates(trace: Trace) -> dict[int, tuple[str, ...]]:
    """By op: the names of the values through which it writes memory that was there before.

    A view without a name stands for what it is a view of. A name that was given to another value since is none of them.
    """
    named = _Names(trace)
    found: dict[int, tuple[str, ...]] = {}
    made = {storage for storage, kind in enumerate(trace.storages) if not kind.kind.is_memory}
    there = {s for value in trace.values if value.producer == NONE for s in value.storages} - made
    for index, op in enumerate(trace.ops):
        written = there.intersection(op.writes)
        if written and op.kind is not OpKind.VIEW and op.target != WAIT:
            names = [name for value in _operands(op) for name in named.through(value, written, index)]
            if names:
                found[index] = tuple(dict.fromkeys(names))
        there.update(storage for storage in op.writes if storage not in made)
    return found


def _operands(op: Op) -> list[int]:
    """The values among an op's arguments."""
    return [value for argument in (*op.args, *(each for _, each in op.kwargs)) for value in refs(argument)]


class _Names:
    """The names that forward() has for values, and since which op it has had them."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        given: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for number, value in enumerate(trace.values):
            for name in _names(trace, number):
                given[name].append((value.producer, number))
        self._given = {name: sorted(values) for name, values in given.items()}

    def through(self, value: int, written: set[int], before: int) -> list[str]:
        """The names, when op `before` is issued, of a value in memory `written`, or of what it is a view of."""
        values, ops = self._trace.values, self._trace.ops
        while written.intersection(values[value].storages):
            if _names(self._trace, value):
                return [name for name in _names(self._trace, value) if self._holds(name, value, before)]
            maker = values[value].producer
            sources = _operands(ops[maker]) if maker != NONE else []
            source = next((each for each in sources if written.intersection(values[each].storages)), NONE)
            if source == NONE:
                break
            value = source
        return []

    def _holds(self, name: str, value: int, before: int) -> bool:
        """Whether `name` still names the object `value`."""
        given = self._given[name]
        last = given[bisect_left(given, (before, NONE)) - 1][1]
        return self._object(last) == self._object(value)

    def _object(self, value: int) -> int:
        """The first value that is the same Python object."""
        while (same := self._trace.values[value].same_object) != NONE:
            value = same
        return value


def _names(trace: Trace, number: int) -> list[str]:
    value = trace.values[number]
    return [name for name in dict.fromkeys((value.local, *value.aliases, value.expression)) if name]
