"""Units as Python statements."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from streamsched.codegen.forward.branches import Branches
from streamsched.codegen.forward.deletes import find_deletes
from streamsched.codegen.forward.device import located, located_expression
from streamsched.codegen.forward.names import Names
from streamsched.codegen.forward.trees import spell_tree, target, tree_imports, unpacking
from streamsched.codegen.forward.unit import Unit, UnitKind
from streamsched.codegen.pretty.statement import WIDTH
from streamsched.codegen.spell.conditional import spell_conditional
from streamsched.codegen.spell.spelling import imports, spell_call, spell_function
from streamsched.dsl.trace.model import COND, Argument, Trace

_ROOM = WIDTH - 3 * 4
"""The columns that a statement has, three blocks deep."""

_LONGEST_INLINE = 48


@dataclass(frozen=True, slots=True)
class Statements:
    """The text of each unit (empty where nothing is printed, of several lines for some), the names to delete behind it,
    and the imports.

    `postponed` gives, for the record_streams whose op is written inside a later statement, that statement's unit.
    """

    texts: tuple[str, ...]
    deletes: tuple[tuple[str, ...], ...]
    imports: frozenset[str]
    postponed: dict[int, int]


def write_statements(
    units: tuple[Unit, ...], names: Names, branches: Branches, trace: Trace, functions: frozenset[int] = frozenset()
) -> Statements:
    """Print all ops, calls and the return; syncs and the ends of lifetimes have no text here.

    `functions` are the in-place ops that are to be called as functions.
    """
    writer = _Writer(units, names, branches, trace, [""] * len(units), functions)
    for place, unit in enumerate(units):
        writer.write(place, unit)
    deletes = find_deletes(units, names, trace, frozenset(writer.inlined))
    return Statements(tuple(writer.texts), deletes, frozenset(writer.imports), writer.postponed)


@dataclass
class _Writer:
    units: tuple[Unit, ...]
    names: Names
    branches: Branches
    trace: Trace
    texts: list[str]
    functions: frozenset[int]
    waiting: dict[int, str] = field(default_factory=dict)  # objects that may be written where they are used
    inlined: set[int] = field(default_factory=set)
    postponed: dict[int, int] = field(default_factory=dict)
    imports: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.places = {obj: place for place, unit in enumerate(self.units) for obj in unit.binds}

    def write(self, place: int, unit: Unit) -> None:
        """Write one unit, with its unnamed operands inside it where that is short and keeps the order of issue."""
        if unit.kind not in (UnitKind.OP, UnitKind.CALL, UnitKind.ASSIGN, UnitKind.RETURN):
            return
        for offered in self._offers(place, unit):
            written: list[int] = []
            right = self._right(unit, partial(self._operand, place, offered, written))
            text = self._statement(unit, right)
            if not offered or (len(text) <= _ROOM and len(written) == len(offered) and self._in_order(offered, right)):
                break
        aliases = (f"{alias.new} = {alias.old}" for alias in self.names.aliases.get(place, ()))
        self.texts[place] = "\n".join((*aliases, text))
        for obj in offered:
            self.texts[self.places[obj]] = ""
            self.inlined.add(obj)
        for between in range(self._first(place, offered), place):
            if self.units[between].kind is UnitKind.RECORD_STREAM:
                self.postponed[between] = place
        if unit.binds and unit.binds[0] in self.names.lifetimes.inline and len(right) <= _LONGEST_INLINE:
            self.waiting[unit.binds[0]] = right if _binds_tightly(right) else f"({right})"

    def _offers(self, place: int, unit: Unit) -> list[frozenset[int]]:
        """Sets of operands that may be written inside `unit`, the largest first."""
        offered = [obj for obj in unit.uses if obj in self.waiting]
        views = frozenset(obj for obj in offered if not self.units[self.places[obj]].runs)
        return [frozenset(offered), views, frozenset()] if self._adjacent(place, offered) else [views, frozenset()]

    def _first(self, place: int, offered: Iterable[int]) -> int:
        """The first unit of `offered` that runs; `place` if none does."""
        return min((self.places[obj] for obj in offered if self.units[self.places[obj]].runs), default=place)

    def _adjacent(self, place: int, offered: list[int]) -> bool:
        """Whether nothing else is issued between the first of `offered` that runs and the statement at `place`."""
        first = self._first(place, offered)
        inside = {self.places[obj] for obj in offered}
        apart = {UnitKind.RECORD, UnitKind.WAIT}
        if self.units[place].kind is UnitKind.RETURN:  # nothing can be printed behind it
            apart.add(UnitKind.RECORD_STREAM)
        return all(
            unit.kind not in apart and (not unit.runs or not self.texts[between] or between in inside)
            for between, unit in enumerate(self.units[first:place], start=first)
        )

    def _in_order(self, offered: frozenset[int], text: str) -> bool:
        """Whether Python evaluates the operands that run, left to right, in the order in which they are issued."""
        end = 0
        for place in sorted(self.places[obj] for obj in offered if self.units[self.places[obj]].runs):
            operand = self.waiting[self.units[place].binds[0]]
            start = text.find(operand, end)
            if start < 0:
                return False
            end = start + len(operand)
        return True

    def name(self, value: int, place: int) -> str:
        """The text of a value at `place`: its name, or the expression of one that no op makes."""
        obj = self.names.objects[value]
        return self.names.of(obj, place) or located_expression(self.trace.values[obj].expression, self.trace)

    def _located(self, argument: Argument) -> Argument:
        return located(argument, self.trace)

    def _operand(self, place: int, inside: frozenset[int], written: list[int], value: int) -> str:
        """The text of an operand, which is noted in `written` if it is one of those to write inside."""
        obj = self.names.objects[value]
        if obj not in inside:
            return self.name(value, place)
        written.append(obj)
        return self.waiting[obj]

    def _statement(self, unit: Unit, right: str) -> str:
        if unit.kind is UnitKind.RETURN:
            return f"return {right}"
        if unit.kind is UnitKind.ASSIGN:
            return f"{unit.place} = {right}"
        bound = target(unit.result, lambda value: self._wanted(unit, value))
        if bound is None:  # a leaf: any other call would be unfolded
            holder, following = unpacking(unit.result, lambda value: self._wanted(unit, value))
            return f"{holder} = {right}\n{following}"
        left, path = bound
        return f"{left} = {right}{path}" if left else right

    def _wanted(self, unit: Unit, value: int) -> str | None:
        """The name that `unit` gives to a value of its result; None if nobody asks for it, or it has one already."""
        obj = self.names.objects[value]
        return self.names.values.get(obj) if obj in unit.binds else None

    def _right(self, unit: Unit, name: Callable[[int], str]) -> str:
        """The expression that a unit evaluates."""
        if unit.kind in (UnitKind.ASSIGN, UnitKind.RETURN):
            self.imports |= tree_imports(unit.result)
            return spell_tree(self._located(unit.result), name)
        if unit.kind is UnitKind.OP:
            op = self.trace.ops[unit.op]
            self.imports |= imports(op)
            if op.target == COND:
                return spell_conditional(op, self.trace, name, self.branches.names(unit.op))
            return (spell_function if unit.op in self.functions else spell_call)(op, self.trace, name)
        call = self.trace.calls[unit.call]
        given = [spell_tree(self._located(argument), name) for argument in call.args]
        given += [f"{word}={spell_tree(self._located(argument), name)}" for word, argument in call.kwargs]
        return f"self{call.accessor}({', '.join(given)})"


def _binds_tightly(text: str) -> bool:
    """Whether an expression can be an operand anywhere without parentheses."""
    return isinstance(ast.parse(text, mode="eval").body, ast.Call | ast.Attribute | ast.Subscript | ast.Name)
