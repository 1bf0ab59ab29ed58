"""`torch.cond` in a trace: its branches as functions with values of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import Node

from streamsched.dsl.trace.model import COND, NONE, Argument, Branch, Literal, Op, Opaque, OpKind, Ref, Sequence, Value
from streamsched.dsl.trace.tracing.arguments import describe, opaque, result_tree
from streamsched.dsl.trace.tracing.assembly import effects
from streamsched.dsl.trace.tracing.assembly.effects import Effect, Operand, Placement
from streamsched.dsl.trace.tracing.assembly.graph import FlatGraph, FlatNode, references
from streamsched.dsl.trace.tracing.assembly.values import layout
from streamsched.dsl.trace.tracing.cond.names import UNKNOWN, Names
from streamsched.dsl.trace.tracing.dims.symbols import Dims


@dataclass(frozen=True, slots=True)
class Conditional:
    """A call of `torch.cond`: its predicate and operands, as values, and its branches.

    `written` are the operands that a branch writes; `returned` has, for each result, the operands that it may be.
    """

    predicate: int
    operands: tuple[int, ...]
    branches: tuple[Branch, Branch]
    random: bool
    written: frozenset[int]
    returned: tuple[frozenset[int], ...]

    def given(self, tensor: Callable[[int], Any]) -> list[tuple[int, Operand]]:
        """What it reads and writes."""
        nothing = frozenset[str]()
        found = [(self.predicate, Operand(tensor(self.predicate), False, False, nothing))]
        for place, value in enumerate(self.operands):
            found.append((value, Operand(tensor(value), place in self.written, False, nothing)))
        return found

    def arguments(self) -> list[Argument]:
        """The arguments of the op."""
        return [Ref(self.predicate), *self.branches, Sequence("list", tuple(map(Ref, self.operands)))]

    def effect(self) -> Effect:
        """What the op does. The host reads the predicate to know what to issue."""
        placements = (
            Placement(tuple(sorted(place + 1 for place in operands)), True, None) for operands in self.returned
        )
        return Effect(OpKind.KERNEL, self.random, True, tuple(placements))


def conditional(
    node: Node,
    graphs: tuple[FlatGraph, FlatGraph],
    called: tuple[Names, Names],
    value: Callable[[Node], int | None],
    name: Callable[[int], str],
    dims: Dims,
) -> Conditional | Node:
    """The call that a node is, or the node that cannot be in a branch. `value` and `name` tell the values around it."""
    for bad in (node for graph in graphs for node in graph.unsupported):
        return bad
    predicate, _, _, listed = node.args
    given = list(references(listed))
    operands = {place: value(each) for place, each in enumerate(given) if isinstance(each.meta["val"], torch.Tensor)}
    of_predicate = value(predicate) if isinstance(predicate, Node) else None
    if of_predicate is None or None in operands.values():
        return node
    kept = {place: each for place, each in operands.items() if each is not None}
    builders = [_Builder(graph, dims) for graph in graphs]
    branches = []
    for builder, names_ in zip(builders, called, strict=True):
        for place, each in kept.items():
            builder.add_parameter(place, names_.parameters.get(place) or name(each))
        refused = builder.add_all()
        if refused is not None:
            return refused
        branches.append(builder.branch(names_.function, len(kept)))
    when, otherwise = builders
    returned = tuple(a | b for a, b in zip(when.returned(), otherwise.returned(), strict=True))
    written = frozenset(when.written | otherwise.written)
    random = when.random or otherwise.random
    return Conditional(of_predicate, tuple(kept.values()), (branches[0], branches[1]), random, written, returned)


@dataclass(slots=True)
class _Builder:
    flat: FlatGraph
    dims: Dims
    values: list[Value] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    random: bool = False
    written: set[int] = field(default_factory=set)  # parameters
    tensors: list[Any] = field(default_factory=list)
    of_node: dict[Node, int] = field(default_factory=dict)

    def add_parameter(self, place: int, name: str) -> None:
        """The next parameter of the function, which is that placeholder of the graph."""
        node = self.flat.placeholders[place]
        self.of_node[node] = self._value(name, node.meta["val"], (len(self.values),), NONE)

    def add_all(self) -> Node | None:
        """The ops; or the node that there cannot be in a branch."""
        for flat in self.flat.nodes:
            skipped = isinstance(flat.node.target, torch._ops.OpOverload) and effects.is_assert(flat.node.target)
            refused = None if skipped or self.dims.is_number(flat.node.meta.get("val")) else self._add(flat)
            if refused is not None:
                return refused
        unknown = (node for node in references(self.flat.results) if self._of(node) is None)
        return next(unknown, None)

    def branch(self, name: str, parameters: int) -> Branch:
        """The function, once all ops are there."""
        results = self.flat.results
        result = self._argument(results[0] if len(results) == 1 else tuple(results))
        return Branch(name, parameters, tuple(self.values), tuple(self.ops), result)

    def returned(self) -> list[frozenset[int]]:
        """For each tensor that is returned, the parameters in whose memory it may lie."""
        found = [self._of(node) for node in self.flat.results if isinstance(node, Node)]
        return [frozenset(self._parameters_of(value)) for value in found if value is not None]

    def _parameters_of(self, value: int) -> set[int]:
        lies = set(self.values[value].storages)
        return {i for i, each in enumerate(self.values) if each.producer == NONE and lies & set(each.storages)}

    def _add(self, flat: FlatNode) -> Node | None:
        node = flat.node
        args = [self._argument(argument) for argument in node.args]
        kwargs = tuple((name, self._argument(argument)) for name, argument in node.kwargs.items())
        if node in self.flat.branches:
            names_ = [value.name for value in self.values]
            inner = conditional(node, self.flat.branches[node], UNKNOWN, self._of, names_.__getitem__, self.dims)
            if isinstance(inner, Node):
                return inner
            target, args = COND, inner.arguments()
            operands, effect = inner.given(self.tensors.__getitem__), inner.effect()
        elif isinstance(node.target, torch._ops.OpOverload):
            target = str(node.target)
            operands = self._operands(node)
            values = effects.argument_values(node.target, node.args, node.kwargs)
            results = [tensor for _, tensor in self._results(node)]
            effect = effects.analyse(node.target, values, [operand for _, operand in operands], results)
        else:
            return node
        if any(True for argument in (*args, *(each for _, each in kwargs)) for _ in opaque(argument)):
            return node
        self._issue(flat, target, effect, operands, (tuple(args), kwargs))
        return None

    def _issue(
        self,
        flat: FlatNode,
        target: str,
        effect: Effect,
        operands: list[tuple[int, Operand]],
        arguments: tuple[tuple[Argument, ...], tuple[tuple[str, Argument], ...]],
    ) -> None:
        """Append an op with what it makes."""
        self.random = self.random or effect.random
        for value, operand in operands:
            self.written |= self._parameters_of(value) if operand.written else set()
        made: list[int] = []
        for (nodes, tensor), placement in zip(self._results(flat.node), effect.placements, strict=True):
            lies = [s for place in placement.operands for s in self.values[operands[place][0]].storages]
            storages = (*lies, len(self.values)) if placement.fresh else tuple(lies)
            same = operands[placement.same][0] if placement.same is not None else NONE
            name = nodes[0].name if nodes else f"{flat.node.name}_{len(made)}"
            made.append(self._value(name, tensor, tuple(dict.fromkeys(storages)), len(self.ops), same))
            self.of_node.update((node, made[-1]) for node in nodes)
        result = result_tree(flat.node.meta.get("val"), iter(made))
        if target == COND and len(made) == 1:
            result = Ref(made[0])
        args, kwargs = arguments
        op = Op(flat.node.name, target, effect.kind, args, kwargs, result, (), (), 0, contexts=flat.contexts)
        self.ops.append(op)

    def _value(self, name: str, tensor: Any, storages: tuple[int, ...], producer: int, same: int = NONE) -> int:
        taken = {value.name for value in self.values}
        while name in taken:
            name += "_"
        shape = layout(tensor, self.dims)
        expression = name if producer == NONE else ""
        self.values.append(Value(name, storages, *shape, producer, expression, same_object=same))
        self.tensors.append(tensor)
        return len(self.values) - 1

    def _results(self, node: Node) -> list[tuple[list[Node], Any]]:
        """The tensors that a node makes, each with the nodes that stand for it."""
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor):
            return [([node], value)]
        elements = self.flat.elements.get(node, {})
        made = enumerate(value) if isinstance(value, list | tuple) else ()
        return [(elements.get(index, []), tensor) for index, tensor in made if isinstance(tensor, torch.Tensor)]

    def _operands(self, node: Node) -> list[tuple[int, Operand]]:
        """The values among a node's arguments, in the order of the schema."""
        found = []
        writes = effects.written(node.target, node.args, node.kwargs)
        for parameter, given in effects.operands(node.target, node.args, node.kwargs):
            info = parameter.alias_info
            sets = frozenset(info.before_set) if info is not None else frozenset()
            written = parameter.name in writes
            for value in filter(lambda value: value is not None, map(self._of, references(given))):
                assert value is not None
                found.append((value, Operand(self.tensors[value], written, written and parameter.is_out, sets)))
        return found

    def _of(self, node: Node) -> int | None:
        return self.of_node.get(self.flat.resolve(node))

    def _argument(self, given: Any) -> Argument:
        def known(each: object) -> Argument | None:
            if not isinstance(each, Node):
                return None
            text = self.dims.number(each)
            if text is not None:
                return Literal(text)
            value = self._of(each)
            return Opaque(each.name) if value is None else Ref(value)

        return describe(given, known)
