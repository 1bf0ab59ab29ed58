"""Cycles among definitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def cycles(uses: Mapping[str, Iterable[str]]) -> list[tuple[str, ...]]:
    """Cycles of the graph `uses`: at least one where there are any, and none shares a node with another.

    Takes time in proportion to the graph.
    """
    following = _cyclic_part(uses)
    found: list[tuple[str, ...]] = []
    walked: set[str] = set()
    for start in following:
        path: dict[str, None] = {}
        node = start
        while node not in walked and node not in path:
            path[node] = None
            node = following[node]
        if node in path:
            nodes = list(path)
            found.append(tuple(nodes[nodes.index(node) :]))
        walked.update(path)
    return found


def _cyclic_part(uses: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """The nodes from which a cycle can be reached, each with one node that follows it and is such a node too."""
    left = {node: {other for other in others if other in uses} for node, others in uses.items()}
    users: dict[str, list[str]] = {node: [] for node in left}
    for node, others in left.items():
        for other in others:
            users[other].append(node)
    leaves = [node for node, others in left.items() if not others]
    while leaves:
        leaf = leaves.pop()
        for user in users[leaf]:
            left[user].discard(leaf)
            if not left[user]:
                leaves.append(user)
    return {node: min(others) for node, others in left.items() if others}
