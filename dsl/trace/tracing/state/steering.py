"""Whether forward() may read what it left in an attribute the last time that it ran, told from its source.

Functions are followed by name: too much may be found to be read, and what is hidden in other files is not found.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator
from types import CodeType
from typing import TypeAlias

import torch

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_UPDATES = frozenset({"append", "extend", "insert", "update", "clear"})
_TORCH = os.path.dirname(torch.__file__)


class Readers:
    """The functions that ran while forward() was traced, and those that they may call, in the same files."""

    def __init__(self, codes: Iterable[CodeType]) -> None:
        codes = [code for code in codes if not code.co_filename.startswith(_TORCH)]
        self._by_name: dict[str, list[_Function]] = {}
        self._by_line: dict[tuple[str, int], _Function] = {}
        for file in dict.fromkeys(code.co_filename for code in codes):
            for node in ast.walk(_parsed(file)):
                if isinstance(node, _Function):
                    self._by_name.setdefault(node.name, []).append(node)
                    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                    self._by_line[file, first] = node
        self._run = [node for node in map(self._function, codes) if node is not None]

    def may_read(self, name: str, forward: CodeType | None) -> bool:
        """Whether the attribute `name` of a module with this forward() may be read before it is written."""
        nodes = self._reached(self._run)
        if any(isinstance(node, ast.Constant) and node.value == name for node in nodes):  # getattr(self, "name")
            return True
        reads = [node for node in _attributes(nodes, name) if isinstance(node.ctx, ast.Load)]
        updates = {id(read) for node in nodes for read in _only_updates(node)}
        reads = [read for read in reads if id(read) not in updates]
        if all(_is_own(read) for read in reads):
            function = None if forward is None else self._function(forward)
            return bool(reads) and not (function is not None and self._writes_first(name, function))
        return True

    def sets_from_outside(self, name: str) -> bool:
        """Whether an attribute `name` of something else than `self` is assigned to."""
        found = _attributes(self._reached(self._run), name)
        return any(isinstance(node.ctx, ast.Store) and not _is_own(node) for node in found)

    def _function(self, code: CodeType) -> _Function | None:
        return self._by_line.get((code.co_filename, code.co_firstlineno))

    def _writes_first(self, name: str, function: _Function) -> bool:
        """Whether `self.name = ...` stands before all else in a function that may look at the attribute."""
        for statement in function.body:
            if isinstance(statement, ast.Assign) and _assigns(statement, name):
                return not any(_attributes(self._reached([statement.value]), name))
            if any(_attributes(self._reached([statement]), name)):
                return False
        return False

    def _reached(self, trees: Iterable[ast.AST]) -> list[ast.AST]:
        """The nodes of trees, and of the functions that they may call."""
        pending, seen, found = [*trees], set[int](), list[ast.AST]()
        while pending:
            tree = pending.pop()
            if id(tree) in seen:
                continue
            seen.add(id(tree))
            for node in ast.walk(tree):
                found.append(node)
                mentioned = getattr(node, "attr", None) or getattr(node, "id", None)
                pending += self._by_name.get(mentioned, ()) if isinstance(mentioned, str) else ()
        return found


def _parsed(file: str) -> ast.Module:
    try:
        with open(file, encoding="utf-8") as stream:
            return ast.parse(stream.read())
    except (OSError, SyntaxError, ValueError):
        return ast.Module([], [])


def _attributes(nodes: Iterable[ast.AST], name: str) -> Iterator[ast.Attribute]:
    return (node for node in nodes if isinstance(node, ast.Attribute) and node.attr == name)


def _assigns(statement: ast.Assign, name: str) -> bool:
    """Whether a statement is `self.name = ...`."""
    return any(_is_own(target) for target in _attributes(statement.targets, name))


def _is_own(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"


def _only_updates(node: ast.AST) -> Iterator[ast.Attribute]:
    """The read in `self.n = self.n + 1`, `self.table[k] = 1` and `self.seen.append(1)`, which nothing else sees."""
    match node:
        case ast.Assign(
            targets=[ast.Attribute() as target], value=ast.BinOp(left=ast.Attribute() as read, right=ast.Constant())
        ) if ast.unparse(target) == ast.unparse(read):
            yield read
        case ast.Subscript(ctx=ast.Store(), value=held):
            yield from _holder(held)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=held, attr=method))) if method in _UPDATES:
            yield from _holder(held)


def _holder(node: ast.expr) -> Iterator[ast.Attribute]:
    """The attribute that holds a container, or the one that this is an item of."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Attribute):
        yield node
