"""The heaviest set of nodes of which none is before another, by minimum flow.

Weighted Dilworth: the weight of the heaviest antichain is the least flow that gives each node at least its weight,
where flow runs along the order. The flow begins as paths that are laid from node to node as long as one can go on, and
is then taken back wherever a path from the source to the sink can be lowered: over an arc that has more than it needs,
or against any arc, which raises that one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple


class Node(NamedTuple):
    """One of a chain. `seen` tells, by chain, below which position the nodes of that chain are before it."""

    weight: int
    chain: int
    position: int
    seen: Sequence[int]


class Antichain(NamedTuple):
    """Nodes of which none is before another, by number, with their weight."""

    weight: int
    nodes: tuple[int, ...]


def heaviest(nodes: Sequence[Node], over: int = -1) -> Antichain | None:
    """The heaviest antichain of `nodes`; None if it weighs no more than `over`.

    Each node stands behind all that are before it, and weighs 0 or more. Work grows with nodes times chains, and where
    the first flow is more than both `over` and the least one, with each round that lowers it.
    """
    flow = _Flow(nodes)
    if flow.total <= over:
        return None
    flow.connect()
    while flow.total > over:
        reached = flow.lower(over)
        if reached is not None:
            cut = tuple(n for n in range(len(nodes)) if 2 * n in reached and 2 * n + 1 not in reached)
            return Antichain(sum(nodes[node].weight for node in cut), cut)
    return None


def some(nodes: Iterable[Node], over: int) -> tuple[int, ...]:
    """Nodes that weigh more than `over`, of which none is before another: each is taken that can be. None if these are
    no heavier, which does not tell that there are none."""
    taken: list[tuple[int, Node]] = []
    total = 0
    for number, node in enumerate(nodes):
        if not any(_ordered(node, other) for _, other in taken):
            taken.append((number, node))
            total += node.weight
            if total > over:
                return tuple(number for number, _ in taken)
    return ()


def _ordered(one: Node, other: Node) -> bool:
    if one.chain == other.chain:
        return True
    return one.position < other.seen[one.chain] or other.position < one.seen[other.chain]


class _Flow:
    """A flow that gives each node at least its weight.

    A node n is two places: `2 * n`, where flow comes in, and `2 * n + 1`, where it leaves.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = nodes
        self.through = [node.weight for node in nodes]
        self.begins = [0] * len(nodes)
        self.ends = list(self.through)
        self.arcs: list[dict[int, int]] = [{} for _ in nodes]
        self.before: list[list[int]] = [[] for _ in nodes]
        idle: dict[int, list[int]] = {node.chain: [] for node in nodes}
        for number, node in enumerate(nodes):
            self.begins[number] = self._continue(number, idle)
            if node.weight:
                idle[node.chain].append(number)
        self.total = sum(self.begins)

    def _continue(self, number: int, idle: dict[int, list[int]]) -> int:
        """Let paths that end before a node go on to it. `idle` has the ends of paths by chain. Returns what the node
        still needs."""
        node = self.nodes[number]
        need = node.weight
        own = idle[node.chain]
        while need and own:
            need -= self._join(own, len(own) - 1, number, need)
        if need:
            for chain, waiting in idle.items():
                while need and waiting and self.nodes[waiting[0]].position < node.seen[chain]:
                    need -= self._join(waiting, 0, number, need)
                if not need:
                    break
        return need

    def _join(self, waiting: list[int], place: int, number: int, need: int) -> int:
        """Let the paths that end at one of the waiting nodes go on to a node that needs so much. Returns how much."""
        first = waiting[place]
        amount = min(need, self.ends[first])
        self.arcs[first][number] = amount
        self.before[number].append(first)
        self.ends[first] -= amount
        if not self.ends[first]:
            del waiting[place]
        return amount

    def connect(self) -> None:
        """Add the arcs of the order, without what follows from others."""
        positions: dict[int, list[int]] = {node.chain: [] for node in self.nodes}
        numbers: dict[int, list[int]] = {chain: [] for chain in positions}
        for number, node in enumerate(self.nodes):
            for before in self._direct(node, positions, numbers):
                if number not in self.arcs[before]:
                    self.arcs[before][number] = 0
                    self.before[number].append(before)
            positions[node.chain].append(node.position)
            numbers[node.chain].append(number)

    def _direct(self, node: Node, positions: dict[int, list[int]], numbers: dict[int, list[int]]) -> list[int]:
        """The nodes directly before one, given those of each chain that were met."""
        found = numbers[node.chain][-1:]
        known = self.nodes[found[0]].seen if found else (0,) * len(node.seen)
        if known is node.seen:
            return found
        others = []
        for chain, met in positions.items():
            if node.seen[chain] > known[chain] and chain != node.chain:
                place = bisect_left(met, node.seen[chain])
                if place:
                    others.append(numbers[chain][place - 1])
        for other in sorted(others, reverse=True):
            _, chain, position, _ = self.nodes[other]
            for nearer in found:
                if position < self.nodes[nearer].seen[chain]:
                    break
            else:
                found.append(other)
        return found

    def lower(self, over: int) -> set[int] | None:
        """Lower the flow along paths, to `over` at least, as long as one is found. Returns None if it was lowered, else
        the places that can be reached from the source."""
        tried: set[int] = set()
        before = self.total
        for start, amount in enumerate(self.begins):
            while amount and 2 * start not in tried and self.total > over:
                path = self._path(2 * start, tried)
                if path:
                    self._lower(path)
                    amount = self.begins[start]
                    tried.difference_update(path)
        return tried if self.total == before else None

    def _path(self, start: int, tried: set[int]) -> list[int]:
        """A path over places that were not tried, to one where flow ends; empty if there is none."""
        came: dict[int, int] = {}
        waiting = [(start, start)]
        while waiting:
            place, behind = waiting.pop()
            if place in tried:
                continue
            tried.add(place)
            came[place] = behind
            node = place >> 1
            if not place & 1:
                waiting += [(2 * other + 1, place) for other in self.before[node]]
                if self.through[node] > self.nodes[node].weight:
                    waiting.append((place + 1, place))
            elif self.ends[node]:
                path = [place]
                while place != start:
                    place = came[place]
                    path.append(place)
                return path[::-1]
            else:
                waiting.append((place - 1, place))
                waiting += [(2 * other, place) for other, amount in self.arcs[node].items() if amount]
        return []

    def _lower(self, path: list[int]) -> None:
        """Lower the flow along a path by as much as it allows."""
        first, last = path[0] // 2, path[-1] // 2
        least = min(self.begins[first], self.ends[last])
        for one, other in pairwise(path):
            node, following = one // 2, other // 2
            if node == following and other > one:
                least = min(least, self.through[node] - self.nodes[node].weight)
            elif node != following and one % 2:
                least = min(least, self.arcs[node][following])
        self.begins[first] -= least
        self.ends[last] -= least
        self.total -= least
        for one, other in pairwise(path):
            node, following = one // 2, other // 2
            if node == following:
                self.through[node] -= least if other > one else -least
            elif one % 2:
                self.arcs[node][following] -= least
            else:
                self.arcs[following][node] += least
