"""What the text around a call says: the name that its result is bound to, and what it is called on."""

from __future__ import annotations

import ast
import json
import linecache
from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

Extent: TypeAlias = tuple[int, int, int, int]
"""Line, end line, column and end column of an expression: lines from 1, columns in bytes from 0."""

RETURNED = ("return",)
"""Stands for the names of what a function returns: the caller knows them."""


class Texts(NamedTuple):
    """One file: the names that each whole value is bound to, and every call."""

    bound: dict[Extent, tuple[str, ...]]
    calls: dict[Extent, ast.Call]


def texts_of(filename: str) -> Texts:
    """What the file says; nothing where it cannot be read or parsed."""
    texts = Texts({}, {})
    linecache.checkcache(filename)
    try:
        tree = ast.parse("".join(linecache.getlines(filename)))
    except (SyntaxError, ValueError):
        return texts
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=ast.expr() as value):
                texts.bound.update(_bindings(target, value))
            case ast.NamedExpr(target=target, value=value):
                texts.bound[_extent(value)] = _names(target)
            case ast.Return(value=ast.expr() as value):
                texts.bound[_extent(value)] = RETURNED
            case ast.Call():
                texts.calls[_extent(node)] = node
    return texts


_OF_STREAMS = frozenset({"wait_event", "record_event"})
"""The methods of a stream that take an event."""


def event_of(call: ast.Call, known: Mapping[str, object]) -> str:
    """The event that a call records or waits for, as people name it; empty where nothing names it.

    `known` are the variables there: of `self.e[i, "k"]` they tell which item it is.
    """
    node: ast.expr | None = next(iter((*call.args, *(keyword.value for keyword in call.keywords))), None)
    if isinstance(call.func, ast.Attribute) and call.func.attr not in _OF_STREAMS:
        node = call.func.value
    return "" if node is None else _name(node) or _item(node, known)


def argument(call: ast.Call, index: int = 0) -> str:
    """The expression of an argument, as people name it; empty where it is none that names something."""
    return _name(call.args[index]) if index < len(call.args) else ""


def _bindings(target: ast.expr, value: ast.expr) -> dict[Extent, tuple[str, ...]]:
    """What `target = value` binds: of `a, b = f(), g()` each by itself."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return {_extent(part): _names(name) for name, part in zip(target.elts, value.elts, strict=True)}
    return {_extent(part): _names(target) for part in _alternatives(value)}


def _alternatives(value: ast.expr) -> Iterator[ast.expr]:
    """The expressions that a value may come from: the branches of a condition, the element of a comprehension."""
    yield value
    match value:
        case ast.IfExp(body=body, orelse=orelse):
            yield from (*_alternatives(body), *_alternatives(orelse))
        case ast.BoolOp(values=values):
            yield from (part for each in values for part in _alternatives(each))
        case ast.ListComp(elt=element):
            yield from _alternatives(element)


def _names(target: ast.expr) -> tuple[str, ...]:
    if isinstance(target, ast.Tuple | ast.List):
        return tuple(_name(item) for item in target.elts)
    return (_name(target),)


def _name(node: ast.expr) -> str:
    """`x`, `self.x` and `d["x"]` are called x; anything else has no name."""
    match node:
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="self"), attr=name):
            return name
        case ast.Subscript(slice=ast.Constant(value=str() as name)):
            return name
        case ast.Attribute():
            return ast.unparse(node)
    return ""


def _item(node: ast.expr, known: Mapping[str, object]) -> str:
    """`self.x[0, "k"]` is called x[0, "k"], by the values of the variables in its key."""
    if not isinstance(node, ast.Subscript):
        return ""
    holder = _name(node.value) or _item(node.value, known)
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    keys = [_key(part, known) for part in parts]
    return f"{holder}[{', '.join(keys)}]" if holder and all(keys) else ""


def _key(node: ast.expr, known: Mapping[str, object]) -> str:
    """A number or a text as it is written; empty for anything else."""
    value = node.value if isinstance(node, ast.Constant) else known.get(node.id) if isinstance(node, ast.Name) else None
    return json.dumps(value, ensure_ascii=False) if isinstance(value, int | str) else ""


def _extent(node: ast.expr) -> Extent:
    assert node.end_lineno is not None and node.end_col_offset is not None
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset
