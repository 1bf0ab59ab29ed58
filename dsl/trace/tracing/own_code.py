"""The code of a module's own that its forward() runs: its methods and properties, as far as the source tells."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType

import torch

from streamsched.dsl.trace.tracing.provenance.calls import forward_code

_DEPTH = 4


def own_codes(module: torch.nn.Module) -> tuple[CodeType, ...]:
    """The code of forward(), and of the methods and properties of `self` that are named in it."""
    found: dict[CodeType, None] = {}
    forward = forward_code(module)
    waiting = [] if forward is None else [forward]
    for _ in range(_DEPTH):
        found.update(dict.fromkeys(waiting))
        named = dict.fromkeys(name for code in waiting for name in own_names(code))
        waiting = [code for name in named for code in _codes(module, *name) if code not in found]
    return tuple(found)


def parsed(code: CodeType) -> ast.AST | None:
    """A method's source, in which it calls its module `self`; None where that is not at hand."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(code)))
    except (OSError, TypeError, SyntaxError):
        return None
    first = code.co_varnames[0] if code.co_argcount else "self"
    if first != "self":
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id == first:
                node.id = "self"
    return tree


def is_property(owner: object, name: str) -> bool:
    """Whether a name is that of a property, whose code runs wherever it is read."""
    return isinstance(getattr(type(owner), name, None), property)


@lru_cache(maxsize=1024)
def own_names(code: CodeType) -> tuple[tuple[str, bool], ...]:
    """The attributes of `self` that a function reads, each with whether it is a base class's: `super().forward`."""
    tree = parsed(code)
    found = (_own(node) for node in ast.walk(tree)) if tree is not None else ()
    return tuple(dict.fromkeys(filter(None, found)))


def _own(node: ast.AST) -> tuple[str, bool] | None:
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Load()):
            return name, False
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=name):
            return name, True
    return None


def _codes(module: torch.nn.Module, name: str, of_base: bool) -> Iterator[CodeType]:
    """The code of a method or property of a module's class, or of all its bases; that of every module is left out."""
    held = [vars(cls)[name] for cls in type(module).__mro__ if name in vars(cls) and cls is not torch.nn.Module]
    for value in held[1:] if of_base else held[:1]:
        code = getattr(value.fget if isinstance(value, property) else value, "__code__", None)
        if isinstance(code, CodeType):
            yield code
