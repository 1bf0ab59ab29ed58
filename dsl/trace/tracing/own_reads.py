"""What a function reads of the attributes of `self`, told from its source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any

import torch

from streamsched.dsl.trace.tracing.accessors import subscript
from streamsched.dsl.trace.tracing.own_code import is_property, parsed

_TRAINING = {"self.training": True, "not self.training": False}
"""Tests that tell training from evaluation, and what they say in training."""


@dataclass(frozen=True, slots=True)
class Place:
    """An attribute of `self`, or what is reached from one: `("config", "scale")`; an item is `(key,)`."""

    steps: tuple[str | tuple[str | int], ...]

    def text(self, accessor: str) -> str:
        """Its expression; `accessor` is that of the module."""
        steps = (f".{step}" if isinstance(step, str) else subscript(step[0]) for step in self.steps)
        return "".join((accessor, *steps))

    def held(self, module: torch.nn.Module) -> Any:
        """What is there. AttributeError for what is no plain attribute of a module: a property, a parameter."""
        found: Any = module
        for step in self.steps:
            if isinstance(step, str) and isinstance(found, torch.nn.Module) and not _is_plain(found, step):
                raise AttributeError(step)
            found = getattr(found, step) if isinstance(step, str) else found[step[0]]
        return found


def _is_plain(module: torch.nn.Module, name: str) -> bool:
    """Whether an attribute is a module, or set as in any object; a part that is None is no constant."""
    if is_property(module, name) or name in module._parameters or name in module._buffers:
        return False
    return module._modules.get(name, module) is not None


@dataclass(frozen=True, slots=True)
class Reads:
    """What a function reads of `self`, the attributes that it writes, and whether it gives `self` to another."""

    places: tuple[Place, ...]
    written: frozenset[str]
    gives_self: bool


@lru_cache(maxsize=1024)
def reads_of(code: CodeType) -> Reads:
    """What a function does with the plain attributes of `self`."""
    tree = parsed(code)
    if tree is None:
        return Reads((), frozenset(), False)
    nodes = list(ast.walk(tree))
    written = {name for node in nodes for name in _written(node)}
    gives = any(isinstance(node, ast.Call) and any(map(_is_self, _given(node))) for node in nodes)
    return Reads(tuple(dict.fromkeys(_places(tree))), frozenset(written), gives)


def _places(node: ast.AST) -> Iterator[Place]:
    """The places that are read, the longest; in what runs in training alone none, and none in a comparison of places
    and constants, which is a condition."""
    if isinstance(node, ast.Compare):
        sides = (node.left, *node.comparators)
        if all(isinstance(side, ast.Constant) or _place(side) is not None for side in sides):
            return
    place = _place(node)
    if place is not None:
        yield place
        return
    for inner in _in_evaluation(node):
        yield from _places(inner)


def _in_evaluation(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node, without the branch that is for training."""
    match node:
        case ast.IfExp(test=test, body=body, orelse=orelse) if ast.unparse(test) in _TRAINING:
            yield orelse if _TRAINING[ast.unparse(test)] else body
        case ast.If(test=test, body=body, orelse=orelse) if ast.unparse(test) in _TRAINING:
            yield from orelse if _TRAINING[ast.unparse(test)] else body
        case _:
            yield from ast.iter_child_nodes(node)


def _place(node: ast.AST) -> Place | None:
    match node:
        case ast.Attribute(value=value, attr=name, ctx=ast.Load()) if not name.startswith("__"):
            return Place((name,)) if _is_self(value) else _further(value, name)
        case ast.Subscript(value=value, slice=ast.Constant(value=str() | int() as key), ctx=ast.Load()):
            return _further(value, (key,))
        case ast.Call(func=ast.Name(id="getattr"), args=[value, ast.Constant(value=str() as name), *_], keywords=[]):
            return Place((name,)) if _is_self(value) and name.isidentifier() else None
    return None


def _further(node: ast.AST, step: str | tuple[str | int]) -> Place | None:
    owner = _place(node)
    return None if owner is None else Place((*owner.steps, step))


def _written(node: ast.AST) -> Iterator[str]:
    """The attribute of `self` that is assigned to, or in which something is."""
    if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
        owner: ast.expr = node
        while isinstance(owner, ast.Attribute | ast.Subscript):
            if isinstance(owner, ast.Attribute) and _is_self(owner.value):
                yield owner.attr
            owner = owner.value


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _is_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"
