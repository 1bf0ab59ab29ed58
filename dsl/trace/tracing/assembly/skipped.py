"""The nodes of a graph that are no ops of the trace."""

from __future__ import annotations

from collections.abc import Collection

import torch
from torch.export.graph_signature import InputKind
from torch.fx import Node

from streamsched.dsl.trace.tracing.assembly import effects
from streamsched.dsl.trace.tracing.assembly.graph import FlatGraph
from streamsched.dsl.trace.tracing.assembly.values import Values, issue_of
from streamsched.dsl.trace.tracing.provenance.issues import TAG

_LIFTS = frozenset({"aten::lift_fresh_copy", "aten::lift_fresh", "aten::detach_", "aten::detach", "aten::alias"})


def is_skipped(node: Node, flat: FlatGraph, values: Values, assigned: Collection[str]) -> bool:
    """Whether an operator call only checks something, turns a constant into a tensor of the model's, for which the
    constant then stands in `flat`, or was appended by torch.export for one of the `assigned` buffers."""
    if not isinstance(node.target, torch._ops.OpOverload):
        return False
    return effects.is_assert(node.target) or _is_lift(node, flat, values) or _is_epilogue(node, values, assigned)


def _is_lift(node: Node, flat: FlatGraph, values: Values) -> bool:
    if effects.base_name(node.target) not in _LIFTS:
        return False
    source = flat.resolve(node.args[0])  # type: ignore[arg-type]
    spec = values.placeholders.get(source)
    if spec is None or spec.kind is not InputKind.CONSTANT_TENSOR or issue_of(source) != issue_of(node):
        return False
    flat.same[node] = source
    if TAG in node.meta["custom"]:
        source.meta["custom"].setdefault(TAG, node.meta["custom"][TAG])
    return True


def _is_epilogue(node: Node, values: Values, assigned: Collection[str]) -> bool:
    """Whether torch.export appended this node for an assignment to a buffer of the root."""
    if node.target is not torch.ops.aten.copy_.default:
        return False
    buffer, source = node.args[:2]
    spec = values.placeholders.get(buffer) if isinstance(buffer, Node) else None
    if spec is None or spec.kind is not InputKind.BUFFER or not isinstance(source, Node):
        return False
    return spec.target in assigned and issue_of(source) == issue_of(node)
