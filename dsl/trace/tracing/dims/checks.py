"""What a model asks of the sizes of its dynamic dims: the smallest and the largest, and what makes them not dynamic."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any

import sympy
from torch.utils._sympy.functions import Mod, PythonMod
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy

from streamsched.dsl.trace.dims import names
from streamsched.dsl.trace.model import Literal, Op, Ref, Value
from streamsched.dsl.trace.tracing.dims.decisions import Decisions
from streamsched.dsl.trace.tracing.dims.symbols import Dims, named_symbol
from streamsched.dsl.trace.tracing.dims.text import spell
from streamsched.dsl.trace.tracing.failures import Place

_TRIED = (2, 3, 4, 5, 6, 7, 8, 12, 16, 31, 32, 64, 100, 257, 512)
"""Sizes at which a condition is tried that no arithmetic proves."""
_TRIALS = 400


@dataclass(frozen=True, slots=True)
class Bounds:
    """The sizes of a dim that a trace holds for; `maximum` is None where there is none."""

    minimum: int
    maximum: int | None


@dataclass(frozen=True, slots=True)
class Constraint:
    """A condition on named dims that does not hold for all sizes within their bounds, and where it was met."""

    condition: Any  # a sympy relation over named symbols
    place: Place | None
    by_python: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The dims that it is about."""
        return tuple(sorted(map(str, self.condition.free_symbols)))

    @property
    def text(self) -> str:
        """The condition as Python."""
        operators = {sympy.Eq: "==", sympy.Ne: "!=", sympy.Lt: "<", sympy.Le: "<=", sympy.Gt: ">", sympy.Ge: ">="}
        operator = operators.get(type(self.condition))
        if operator is None:
            return str(self.condition)
        left, right = (spell(side) or str(side) for side in self.condition.args)
        return f"{left} {operator} {right}"

    @property
    def fixed(self) -> tuple[str, int] | None:
        """The dim that the condition fixes, and its size; None where it does not."""
        sides = self.condition.args
        if isinstance(self.condition, sympy.Eq) and isinstance(sides[0], sympy.Symbol):
            return (str(sides[0]), int(sides[1])) if isinstance(sides[1], sympy.Integer) else None
        return None


class DimChecks:
    """The decisions of one export, as far as they are about named dims."""

    def __init__(self, dims: Dims, decisions: Decisions) -> None:
        self._dims = dims
        self._decisions = decisions
        environment = decisions.environment
        symbols = dims.symbols(environment) if environment is not None else {}
        self._named = {symbol: named_symbol(name) for symbol, name in symbols.items()}
        self._ranges: dict[sympy.Symbol, ValueRanges[Any]] = {
            named_symbol(name): ValueRanges(2, int_oo) for name in dims.sizes
        }
        for symbol, name in symbols.items():
            found = environment.var_to_range[symbol] if environment is not None else None
            if found is not None and not found.is_singleton():
                self._ranges[named_symbol(name)] &= found

    def constraints(self) -> Iterator[Constraint]:
        """What makes dims not dynamic, in the order in which it was asked."""
        for decision in self._decisions.all:
            if not decision.binding:
                continue
            condition = self._over_names(decision.condition)
            # Where an operator finds sizes different, they would have to be the same by chance.
            matters = decision.by_python or decision.slices or isinstance(condition, sympy.Eq)
            if condition is not None and matters and not self._always(condition):
                yield Constraint(condition, decision.place, decision.by_python)

    def failure(self, passed: set[CodeType]) -> Constraint | None:
        """What was denied last, and would have had to hold where an export ended with an exception; None where the
        function that asked for it is none of those that the exception `passed` through."""
        decision = self._decisions.all[-1] if self._decisions.all else None
        last = self._over_names(decision.condition) if decision is not None else None
        if decision is None or decision.asked_by not in passed or not isinstance(last, sympy.Ne):
            return None
        left, right = _without_common_factors(*last.args)
        if isinstance(right, sympy.Symbol) and not isinstance(left, sympy.Symbol):
            left, right = right, left
        return Constraint(sympy.Eq(left, right, evaluate=False), decision.place, False)

    def bounds(self, ops: tuple[Op, ...], values: tuple[Value, ...]) -> dict[str, Bounds]:
        """The sizes of each dim that the trace holds for."""
        needs_two = {name for name in self._dims.sizes if self._differs_at_one(name)} | set(_squeezed(ops, values))
        found: dict[str, Bounds] = {}
        for name in self._dims.sizes:
            lower, upper = self._ranges[named_symbol(name)].lower, self._ranges[named_symbol(name)].upper
            minimum = int(lower) if lower > 2 else 2 if name in needs_two else 1
            found[name] = Bounds(minimum, None if upper == int_oo else int(upper))
        return found

    def _over_names(self, condition: Any) -> Any:
        """A condition over the dims' names; None where it is about something else, or nothing."""
        if not isinstance(condition, sympy.Basic) or not condition.free_symbols <= self._named.keys():
            return None
        renamed = condition.xreplace(self._named)
        return None if renamed in (sympy.true, sympy.false) else renamed

    def _always(self, condition: Any) -> bool:
        """Whether a condition holds for all sizes within the bounds."""
        symbols = sorted(condition.free_symbols, key=str)
        proved = bound_sympy(condition, {symbol: self._ranges[symbol] for symbol in symbols})
        if proved.is_singleton():
            return bool(proved.lower)
        sizes = [[size for size in _TRIED if size in self._ranges[symbol]] for symbol in symbols]
        for trial in itertools.islice(itertools.product(*sizes), _TRIALS):
            if not _holds(condition, dict(zip(symbols, trial, strict=True))):
                return False
        return True

    def _differs_at_one(self, name: str) -> bool:
        """Whether something was asked that would be answered otherwise where the dim is 1."""
        sizes = {named_symbol(each): size for each, size in self._dims.sizes.items()} | {named_symbol(name): 1}
        for decision in self._decisions.all:
            condition = self._over_names(decision.condition) if decision.by_python or decision.slices else None
            if condition is not None and named_symbol(name) in condition.free_symbols and not _holds(condition, sizes):
                return True
        return False


def _holds(condition: Any, sizes: Mapping[sympy.Symbol, int]) -> bool:
    try:
        found = condition.xreplace({symbol: sympy.Integer(size) for symbol, size in sizes.items()})
    except (ZeroDivisionError, ValueError):
        return False
    return bool(found == sympy.true)


def _without_common_factors(left: Any, right: Any) -> tuple[Any, Any]:
    """Both sides of an equation of positive sizes, divided by what is a factor of both."""
    ours, theirs = list(sympy.Mul.make_args(left)), list(sympy.Mul.make_args(right))
    for factor in list(ours):
        if factor in theirs and isinstance(factor, sympy.Symbol):
            ours.remove(factor)
            theirs.remove(factor)
    return sympy.Mul(*ours), sympy.Mul(*theirs)


def multiple(constraint: Constraint) -> tuple[str, int] | None:
    """The dim that must be a multiple of a number, and the number; None where the condition is another."""
    condition = constraint.condition
    if not isinstance(condition, sympy.Eq) or len(condition.free_symbols) != 1:
        return None
    [symbol] = condition.free_symbols
    for side, other in (condition.args, reversed(condition.args)):
        if isinstance(side, Mod | PythonMod) and other == 0 and isinstance(side.args[1], sympy.Integer):
            return (str(symbol), int(side.args[1])) if side.args[0] == symbol else None
    held = [n for n in range(2, 130) if _holds(condition, {symbol: n})]
    step = held[0] if held else 0
    return (str(symbol), step) if step > 1 and held == list(range(step, 130, step)) else None


def _squeezed(ops: tuple[Op, ...], values: tuple[Value, ...]) -> Iterator[str]:
    """The dims that `squeeze()` would take away where they are 1."""
    for op in ops:
        if op.target.split(".")[1].rstrip("_") != "squeeze" or not isinstance(op.args[0], Ref):
            continue
        shape = values[op.args[0].value].shape
        given = op.args[1] if len(op.args) > 1 else None
        axis = int(given.text) if isinstance(given, Literal) else None
        for dim in shape if axis is None else (shape[axis],):
            yield from names(dim)
