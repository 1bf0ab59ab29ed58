"""The values that the recorder's tags stand for."""

from __future__ import annotations

import torch
from torch.fx import Node

from streamsched.dsl.trace.tracing.assembly import effects
from streamsched.dsl.trace.tracing.assembly.graph import FlatGraph
from streamsched.dsl.trace.tracing.assembly.values import Values, tag_of


class Tags:
    """The nodes and values by tag, once all ops of `flat` are among `values`."""

    def __init__(self, flat: FlatGraph, values: Values) -> None:
        self._values = values
        self._nodes: dict[int, Node] = {}
        nodes = [*values.placeholders, *(each.node for each in flat.nodes)]
        nodes += [node for elements in flat.elements.values() for same in elements.values() for node in same]
        for node in nodes:
            if isinstance(node.target, torch._ops.OpOverload) and effects.is_assert(node.target):
                continue  # it carries the annotations of the node that it looks at
            tag = tag_of(node)
            if tag is not None:
                self._nodes.setdefault(tag, node)

    def node(self, tag: int) -> Node | None:
        """The node that a tag is on."""
        return self._nodes.get(tag)

    def value(self, tag: int) -> int | None:
        """The value of that node."""
        node = self._nodes.get(tag)
        return None if node is None else self._values.of(node)
