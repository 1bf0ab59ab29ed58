"""The heaviest set of nodes of which none is before another, by minimum flow.

Weighted Dilworth: the weight of the heaviest antichain is the least flow that gives each node at least its weight,
where flow runs along the order. The flow begins as one path along each chain, and is then taken back wherever a path
from the source to the sink can be lowered: over an arc that has more than it needs, or against any arc, which raises
that one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

_SOURCE, _SINK = -1, -2


class Antichain(NamedTuple):
    """Nodes of which none is before another, with their weight."""

    weight: int
    nodes: tuple[int, ...]


def heaviest(
    weights: Sequence[int], chains: Sequence[Sequence[int]], arcs: Sequence[tuple[int, int]], over: int = -1
) -> Antichain | None:
    """The heaviest antichain of the nodes, each of which lies in one of `chains`, in order; None if it weighs no more
    than `over`.

    `arcs` lead from a node to one of another chain that comes behind it; with the chains they give the whole order.
    Weights are 0 or more.
    """
    flow = _Flow(weights, chains, arcs)
    while flow.total > over:
        if not flow.lower():
            return flow.cut()
    return None


class _Flow:
    """A flow that gives each node at least its weight. A node is two: where flow comes in, and where it leaves."""

    def __init__(
        self, weights: Sequence[int], chains: Sequence[Sequence[int]], arcs: Sequence[tuple[int, int]]
    ) -> None:
        self.weights = weights
        self.through = [0] * len(weights)
        self.arcs: dict[tuple[int, int], int] = dict.fromkeys(arcs, 0)
        self.begins: dict[int, int] = {}
        self.ends: dict[int, int] = {}
        for chain in chains:
            most = max(weights[node] for node in chain)
            self.begins[chain[0]] = self.ends[chain[-1]] = most
            self.arcs.update(dict.fromkeys(pairwise(chain), most))
            for node in chain:
                self.through[node] = most
        self.behind: list[list[int]] = [[] for _ in weights]
        self.ahead: list[list[int]] = [[] for _ in weights]
        self.total = sum(self.begins.values())
        for before, after in self.arcs:
            self.behind[before].append(after)
            self.ahead[after].append(before)

    def lower(self) -> bool:
        """Lower the flow along one path; false if it is as low as it can be."""
        reached = self._search()
        if _SINK not in reached:
            return False
        path: list[int] = []
        place = _SINK
        while place != _SOURCE:
            path.append(place)
            place = reached[place]
        path = [_SOURCE, *reversed(path)]
        steps = list(pairwise(path))
        least = min(spare for step in steps if (spare := self._spare(*step)) is not None)
        for step in steps:
            self._change(*step, least)
        self.total -= least
        return True

    def cut(self) -> Antichain:
        """The nodes that bind the flow: it comes in where it can be lowered, and leaves where it cannot."""
        reached = self._search()
        nodes = tuple(n for n in range(len(self.weights)) if 2 * n in reached and 2 * n + 1 not in reached)
        return Antichain(sum(self.weights[node] for node in nodes), nodes)

    def _search(self) -> dict[int, int]:
        """The places that can be reached from the source, each with the one before it. `2 * n` is where flow comes into
        the node n, `2 * n + 1` where it leaves."""
        reached = {2 * node: _SOURCE for node, amount in self.begins.items() if amount}
        waiting = deque(reached)
        while waiting:
            place = waiting.popleft()
            node, leaves = divmod(place, 2)
            if leaves:
                following = [2 * node, *(2 * other for other in self.behind[node] if self.arcs[node, other])]
                if self.ends.get(node):
                    reached[_SINK] = place
                    return reached
            else:
                following = [2 * other + 1 for other in self.ahead[node]]
                if self.through[node] > self.weights[node]:
                    following.append(2 * node + 1)
            for other in following:
                if other not in reached:
                    reached[other] = place
                    waiting.append(other)
        return reached

    def _spare(self, first: int, second: int) -> int | None:
        """By how much the flow can be lowered between two places; None where it is raised."""
        if first == _SOURCE:
            return self.begins[second // 2]
        node = first // 2
        if second == _SINK:
            return self.ends[node]
        if second // 2 == node:
            return self.through[node] - self.weights[node] if second > first else None
        return self.arcs[node, second // 2] if first % 2 else None

    def _change(self, first: int, second: int, amount: int) -> None:
        """Lower the flow between two places, or raise it where they are passed backwards."""
        if first == _SOURCE:
            self.begins[second // 2] -= amount
        elif second == _SINK:
            self.ends[first // 2] -= amount
        elif first // 2 == second // 2:
            self.through[first // 2] -= amount if second > first else -amount
        elif first % 2:
            self.arcs[first // 2, second // 2] -= amount
        else:
            self.arcs[second // 2, first // 2] += amount
