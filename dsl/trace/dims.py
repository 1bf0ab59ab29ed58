"""Sizes that depend on dynamic dims: Python expressions over the dims' names, read and evaluated without torch.

An expression has names, numbers, parentheses, `+ - * / // % **`, a minus sign, `min()` and `max()`, and nothing else.
A size is always a whole number; an argument such as `1 / seq` need not be.
"""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from streamsched.dsl.trace.model import Dim

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], int | float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Callable[..., int | float]] = {"min": min, "max": max}
_LARGEST_POWER = 64
"""Larger exponents are no sizes, and take for ever."""


def evaluate(dim: Dim, sizes: Mapping[str, int]) -> int:
    """The size that `dim` is where the named dims have `sizes`.

    ValueError for a text that is no such expression or no whole number, for a name without a size, and for a division
    by zero.
    """
    if isinstance(dim, int):
        return dim
    size = evaluate_number(dim, sizes)
    if isinstance(size, float):
        raise ValueError(f"{dim} is no whole number")
    return size


def evaluate_number(text: str, sizes: Mapping[str, int]) -> int | float:
    """The number that an expression is, whole or not. ValueError as for `evaluate`."""
    try:
        return _evaluate(_parse(text), sizes)
    except ArithmeticError as error:
        raise ValueError(f"{text} has no value: {error}") from None


def evaluate_all(dims: Iterable[Dim], sizes: Mapping[str, int]) -> tuple[int, ...]:
    """A shape or a stride as numbers."""
    return tuple(evaluate(dim, sizes) for dim in dims)


def names(dim: Dim) -> tuple[str, ...]:
    """The named dims in an expression, each once, in the order of the text. ValueError for another text."""
    return () if isinstance(dim, int) else _names(dim)


def is_expression(text: str, known: frozenset[str]) -> bool:
    """Whether a text is an expression over some of the dims `known`; a mere number is not."""
    if not known:
        return False
    try:
        found = _names(text)
    except ValueError:
        return False
    return bool(found) and known.issuperset(found)


def rename(text: str, new: Mapping[str, str]) -> str:
    """An expression with other names for its dims. ValueError for another text."""
    if all(new.get(name, name) == name for name in _names(text)):
        return text
    tree = _parse(text)
    places = [node for node in _name_nodes(tree) if node.id in new]
    for node in sorted(places, key=lambda node: node.col_offset, reverse=True):
        text = text[: node.col_offset] + new[node.id] + text[node.end_col_offset :]
    return text


@functools.lru_cache(maxsize=4096)
def _names(text: str) -> tuple[str, ...]:
    tree = _parse(text)
    found = sorted(_name_nodes(tree), key=lambda node: node.col_offset)
    ordered = tuple(dict.fromkeys(node.id for node in found))
    _check(tree)
    return ordered


def _name_nodes(tree: ast.expr) -> list[ast.Name]:
    functions = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node not in functions]


def _parse(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"{text!r} is no expression over named dims") from None


def _check(node: ast.expr) -> None:
    """Raise ValueError where there is something else in an expression than may be."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            parts: list[ast.expr] = []
        case ast.Name():
            parts = []
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            parts = [operand]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            parts = [left, right]
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS and len(args) > 1:
            parts = args
        case _:
            raise ValueError(f"{ast.unparse(node)!r} is no expression over named dims")
    for part in parts:
        _check(part)


def _evaluate(node: ast.expr, sizes: Mapping[str, int]) -> int | float:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value
        case ast.Name(id=name) if name in sizes:
            return sizes[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluate(operand, sizes)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            first, second = _evaluate(left, sizes), _evaluate(right, sizes)
            if isinstance(op, ast.Pow) and abs(second) > _LARGEST_POWER:
                raise ValueError(f"{ast.unparse(node)} is too large")
            return _OPERATORS[type(op)](first, second)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS and len(args) > 1:
            return _FUNCTIONS[name](*(_evaluate(arg, sizes) for arg in args))
    raise ValueError(f"{ast.unparse(node)} has no value")
