"""The arguments of graph nodes: as trees of values and constants, and as what an operator may write."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

from streamsched.dsl.trace.model import Argument, Literal, Opaque, Ref
from streamsched.dsl.trace.tracing.arguments import describe
from streamsched.dsl.trace.tracing.assembly import effects
from streamsched.dsl.trace.tracing.assembly.effects import Operand
from streamsched.dsl.trace.tracing.assembly.graph import FlatGraph, references
from streamsched.dsl.trace.tracing.assembly.values import Values
from streamsched.dsl.trace.tracing.dims.symbols import Dims


class Operands:
    """What nodes are given, in terms of `values`."""

    def __init__(self, flat: FlatGraph, values: Values, dims: Dims) -> None:
        self.unspelled: list[Node] = []  # numbers made of named dims that have no printed form
        self._flat = flat
        self._values = values
        self._dims = dims

    def of(self, node: Node) -> list[tuple[int, Operand]]:
        """The values among a node's arguments, in the order of the schema."""
        if not isinstance(node.target, torch._ops.OpOverload):
            found = [self._values.of(n) for n in references((node.args, node.kwargs))]
            return [(v, Operand(self._values.tensor(v), False, False, frozenset())) for v in found if v is not None]
        operands: list[tuple[int, Operand]] = []
        writes = effects.written(node.target, node.args, node.kwargs)
        for argument, given in effects.operands(node.target, node.args, node.kwargs):
            info = argument.alias_info
            sets = frozenset(info.before_set) if info is not None else frozenset()
            for reference in references(given):
                value = self._values.of(reference)
                if value is not None:
                    written = argument.name in writes
                    tensor = self._values.tensor(value)
                    operands.append((value, Operand(tensor, written, written and argument.is_out, sets)))
        return operands

    def argument(self, given: Any) -> Argument:
        """One argument of a node as a tree."""

        def tensor(value: object) -> Argument | None:
            if not isinstance(value, Node):
                return None
            number = self.number(value)
            if number is not None:
                return number
            index = self._values.of(value)
            return Opaque(value.name) if index is None else Ref(index)

        return describe(given, tensor)

    def number(self, node: Node) -> Argument | None:
        """A number that the named dims decide, as an expression over them; None for other nodes."""
        node = self._flat.resolve(node)
        if not self._dims.is_number(node.meta.get("val")):
            return None
        text = self._dims.number(node)
        if text is None:
            self.unspelled.append(node)
        return Literal(text or "...")
