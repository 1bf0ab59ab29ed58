"""One flat sequence of operator calls, from an exported program with its nested graphs."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import GraphModule, Node

COND = torch.ops.higher_order.cond
_GRAD = torch.ops.higher_order.wrap_with_set_grad_enabled
_AUTOCAST = torch.ops.higher_order.wrap_with_autocast


@dataclass(frozen=True, slots=True)
class FlatNode:
    """An operator call, with the `with` expressions around it."""

    node: Node
    contexts: tuple[str, ...]


@dataclass(slots=True)
class FlatGraph:
    """The calls in order. `same` leads from a node to the one that stands for it: across the borders of nested
    graphs, and from the elements of a result. `branches` are the graphs of each `torch.cond`."""

    nodes: list[FlatNode] = field(default_factory=list)
    same: dict[Node, Any] = field(default_factory=dict)
    elements: dict[Node, dict[int, list[Node]]] = field(default_factory=dict)
    unsupported: list[Node] = field(default_factory=list)
    transformed: list[Node] = field(default_factory=list)  # under torch.vmap and its like, which are no ops themselves
    branches: dict[Node, tuple[FlatGraph, FlatGraph]] = field(default_factory=dict)
    placeholders: list[Node] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)

    def resolve(self, node: Node) -> Node:
        """The node that stands for `node`."""
        while node in self.same:
            node = self.same[node]
        return node


def flatten(module: GraphModule) -> FlatGraph:
    """The operator calls of a graph, those of `torch.no_grad()` and `torch.autocast()` blocks among them."""
    flat = FlatGraph(placeholders=[node for node in module.graph.nodes if node.op == "placeholder"])
    flat.results = _walk(module, (), flat)
    return flat


def _walk(module: GraphModule, contexts: tuple[str, ...], flat: FlatGraph) -> list[Any]:
    results: dict[Node, list[Any]] = {}
    for node in module.graph.nodes:
        if node.op == "output":
            return list(node.args[0]) if isinstance(node.args[0], tuple | list) else [node.args[0]]
        if node.op != "call_function":
            continue
        if node.target is operator.getitem and isinstance(node.args[0], Node):
            _element(node, results, flat)
        elif node.target in (_GRAD, _AUTOCAST):
            results[node] = _inline(module, node, contexts, flat)
        elif node.target is COND:
            flat.nodes.append(FlatNode(node, contexts))
            when, otherwise = (flatten(getattr(module, str(branch.target))) for branch in node.args[1:3])
            flat.branches[node] = (when, otherwise)
            flat.unsupported += [*when.unsupported, *otherwise.unsupported]
        elif isinstance(node.target, torch._ops.HigherOrderOperator):
            flat.unsupported.append(node)
        elif _is_transformed(node.target, node.meta.get("val")):
            flat.transformed.append(node)
        else:
            flat.nodes.append(FlatNode(node, contexts))
    return []


def _is_transformed(target: Any, value: Any) -> bool:
    """Whether a call is one of many that torch.vmap makes together, or leads in or out of such a transform."""
    if isinstance(value, list | tuple):
        return any(_is_transformed(target, item) for item in value)
    if not isinstance(value, torch.Tensor):
        return False
    operator = isinstance(target, torch._ops.OpOverload)
    return not operator or torch._C._functorch.is_functorch_wrapped_tensor(value)


def _element(node: Node, results: dict[Node, list[Any]], flat: FlatGraph) -> None:
    owner, index = node.args
    assert isinstance(owner, Node) and isinstance(index, int), node
    if owner in results:
        flat.same[node] = results[owner][index]
    else:
        flat.elements.setdefault(flat.resolve(owner), {}).setdefault(index, []).append(node)


def _inline(module: GraphModule, node: Node, contexts: tuple[str, ...], flat: FlatGraph) -> list[Any]:
    if node.target is _GRAD:
        enabled, body, *operands = node.args
        context = "torch.enable_grad()" if enabled else "torch.no_grad()"
    else:
        device, dtype, enabled, cache, body, *operands = node.args
        context = f"torch.autocast({device!r}, dtype={dtype}, enabled={enabled}, cache_enabled={cache})"
        if not enabled and not any(outer.startswith("torch.autocast") for outer in contexts):
            context = ""  # there is nothing that it switches off
    assert isinstance(body, Node), node
    inner = getattr(module, str(body.target))
    placeholders = [n for n in inner.graph.nodes if n.op == "placeholder"]
    flat.same.update(zip(placeholders, operands, strict=True))
    return _walk(inner, (*contexts, context) if context else contexts, flat)


def references(value: Any) -> Iterator[Node]:
    """The nodes in an argument of a node, left to right."""
    if isinstance(value, Node):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from references(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from references(item)
    elif isinstance(value, slice):
        yield from references((value.start, value.stop, value.step))
