"""The numbers and dtypes that the code of an op or of a module call would hold."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import lru_cache

from streamsched.dsl.trace.model import (
    Argument,
    Branch,
    Instance,
    Literal,
    Mapping,
    ModuleCall,
    Op,
    Ref,
    Value,
)
from streamsched.dsl.trace.model import Sequence as Items

Numbers = frozenset[Hashable]
"""Numbers as Python compares them (1 is 1.0; truth values are none), and dtypes by their texts."""


def numbers_of_op(op: Op, values: Sequence[Value]) -> Iterator[Hashable]:
    """Those that an op is given; a constant tensor among its operands has some, too."""
    return _of_trees((*op.args, *(argument for _, argument in op.kwargs)), values)


def numbers_of_call(call: ModuleCall, values: Sequence[Value]) -> Iterator[Hashable]:
    """Those that a module is called with."""
    return _of_trees((*call.args, *(argument for _, argument in call.kwargs)), values)


@lru_cache(maxsize=4096)
def numbers_in(text: str) -> Numbers:
    """Those in a Python expression: `-1`, `(2, 4)`, `torch.float16`, `8 * batch`."""
    if "(" not in text and text.startswith("torch."):
        return frozenset({text})
    return frozenset(_in_node(ast.parse(text, mode="eval").body))


def _in_node(node: ast.AST) -> Iterator[Hashable]:
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() | complex() as number)):
            yield -number
        case ast.Constant(value=int() | float() | complex() as number) if not isinstance(number, bool):
            yield number
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str() as text)]):
            yield float(text)
        case _:
            for inner in ast.iter_child_nodes(node):
                yield from _in_node(inner)


def _of_trees(trees: Iterable[Argument], values: Sequence[Value]) -> Iterator[Hashable]:
    for tree in trees:
        match tree:
            case Literal(text=text):
                yield from numbers_in(text)
            case Ref(value=index) if values[index].expression.startswith("torch."):
                yield from numbers_in(values[index].expression)
            case Items(items=items) | Mapping(items=items) | Instance(items=items):
                yield from _of_trees(items, values)
            case Branch(ops=ops, values=own):
                for op in ops:
                    yield from numbers_of_op(op, own)
