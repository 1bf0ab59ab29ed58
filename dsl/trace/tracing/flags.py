"""What steers the Python of a forward(): the conditions that plain attributes of its module decide."""

from __future__ import annotations

import ast
import dataclasses
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any

import torch

from streamsched.dsl.trace.model import Trace
from streamsched.dsl.trace.tracing.arguments import literal
from streamsched.dsl.trace.tracing.own_code import own_codes, parsed
from streamsched.dsl.trace.tracing.own_constants import constants_read

_COMPARISONS: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], bool]]] = {
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
    ast.Is: ("is", operator.is_),
    ast.IsNot: ("is not", operator.is_not),
}


@dataclass(frozen=True, slots=True)
class _Attribute:
    """An attribute of `self`, or what is reached from one by attributes."""

    names: tuple[str, ...]

    def text(self, accessor: str) -> str:
        return ".".join((accessor, *self.names))

    def value(self, module: torch.nn.Module) -> Any:
        """Its value; AttributeError where there is none."""
        found: Any = module
        for name in self.names:
            found = getattr(found, name)
        return found


@dataclass(frozen=True, slots=True)
class _Constant:
    constant: Any

    def text(self, accessor: str) -> str:
        return repr(self.constant)

    def value(self, module: torch.nn.Module) -> Any:
        return self.constant


@dataclass(frozen=True, slots=True)
class _Comparison:
    left: _Attribute | _Constant
    comparison: type[ast.cmpop]
    right: _Attribute | _Constant

    def text(self, accessor: str) -> str:
        return f"{self.left.text(accessor)} {_COMPARISONS[self.comparison][0]} {self.right.text(accessor)}"

    def value(self, module: torch.nn.Module) -> Any:
        """Its truth; TypeError where it compares more than constants."""
        sides = self.left.value(module), self.right.value(module)
        if any(literal(side) is None for side in sides):
            raise TypeError("not constants")
        return _COMPARISONS[self.comparison][1](*sides)


_Condition = _Attribute | _Comparison


def flags(module: torch.nn.Module, accessor: str) -> tuple[tuple[str, str], ...]:
    """The conditions in the forward() of `module`, and in those of its methods that this calls, that depend on nothing
    but constants among its attributes, and the attributes that choose what is done where they are passed on; each with
    its value, both as Python. `accessor` reaches the module: `self.gate`.

    `self.training` is left out: it is the same for all modules of a model.
    """
    found: dict[str, str] = {}
    for condition in (condition for code in own_codes(module) for condition in _conditions(code)):
        try:
            text = literal(condition.value(module))
        except (AttributeError, TypeError):
            continue
        if text is not None and condition != _Attribute(("training",)):
            found[condition.text(accessor)] = text
    found.update(constants_read(module, accessor))
    return tuple(found.items())


def common_flags(trace: Trace, others: list[Trace]) -> Trace:
    """`trace` with the flags and constants alone that the same calls have in all `others`."""
    held = [[{*call.flags, *call.constants} for call in other.calls] for other in others]
    calls = [
        dataclasses.replace(
            call,
            flags=tuple(flag for flag in call.flags if all(flag in its[index] for its in held)),
            constants=tuple(each for each in call.constants if all(each in its[index] for its in held)),
        )
        for index, call in enumerate(trace.calls)
    ]
    return dataclasses.replace(trace, calls=tuple(calls))


def input_objects(given: Mapping[str, Any], expressions: list[str]) -> tuple[tuple[str, str], ...]:
    """The objects that forward() is given and those that inputs are reached through, outermost first, each with the
    name of its class.

    `given` are the arguments by parameter, and `expressions` reach the inputs: `cache.layers[0].keys`.
    """
    plain = (torch.Tensor, list, tuple, dict)
    objects = {n: value for n, value in given.items() if not isinstance(value, plain) and literal(value) is None}
    found = {name: type(value).__name__ for name, value in objects.items()}
    for expression in expressions:
        node = ast.parse(expression, mode="eval").body
        chain: list[str] = []
        while isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
            chain.append(ast.get_source_segment(expression, node) or "")
        for owner in reversed(chain) if isinstance(node, ast.Name) and node.id in given else ():
            if owner not in found:
                found[owner] = type(eval(owner, {}, dict(given))).__name__  # an expression of the tracer's own
    return tuple(found.items())


@lru_cache(maxsize=1024)
def _conditions(code: CodeType) -> tuple[_Condition, ...]:
    """The conditions over `self` in a function."""
    tree = parsed(code)
    nodes = ast.walk(tree) if tree is not None else ()
    return tuple(dict.fromkeys(found for node in nodes for test in _tests(node) for found in _over_self(test)))


def _tests(node: ast.AST) -> list[ast.expr]:
    """The expressions whose truth decides what runs next; an operand of `and`, `or` and `not` is one of its own."""
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            return [test]
        case ast.BoolOp(values=values):
            return values
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return [operand]
        case ast.comprehension(ifs=ifs):
            return ifs
    return []


def _over_self(test: ast.expr) -> Iterator[_Condition]:
    """What a test asks of `self` alone: an attribute, or how one compares with a constant or with another."""
    match test:
        case ast.Compare(left=left, ops=[comparison], comparators=[right]):
            sides = [_side(left), _side(right)]
            attributes = [side for side in sides if isinstance(side, _Attribute)]
            if attributes and sides[0] is not None and sides[1] is not None and type(comparison) in _COMPARISONS:
                yield _Comparison(sides[0], type(comparison), sides[1])
            else:
                yield from attributes
        case ast.Attribute():
            attribute = _side(test)
            if isinstance(attribute, _Attribute):
                yield attribute


def _side(node: ast.expr) -> _Attribute | _Constant | None:
    if isinstance(node, ast.Constant):
        return _Constant(node.value)
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    return _Attribute(tuple(names)) if names and isinstance(node, ast.Name) and node.id == "self" else None
