"""Issue order: the topological order that keeps closest to program order."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from streamsched.dsl.diagnostic import Diagnostic, Related, Span
from streamsched.dsl.plan import rules


@dataclass(frozen=True, slots=True)
class Precedence:
    """A declared order between two sets of ops: an edge, or (`syncs` false) a `before`."""

    label: str
    span: Span
    before: tuple[int, ...]
    after: tuple[int, ...]
    syncs: bool


@dataclass(frozen=True, slots=True)
class Graph:
    """The orders to honour: ops are numbered by the trace, the precedence `k` is the virtual node `ops + k`.

    `turns` are the ops in the order that is kept where nothing else decides.
    """

    ops: int
    nodes: tuple[int, ...]  # the ops that have a place in a stream
    successors: tuple[tuple[int, ...], ...]
    precedences: tuple[Precedence, ...]
    turns: Sequence[int]


def build(
    ops: int,
    nodes: Sequence[int],
    pairs: Iterable[tuple[int, int]],
    precedences: Sequence[Precedence],
    turns: Sequence[int] | None = None,
) -> Graph:
    """The graph of the pairs (before, after) and the precedences. One virtual node each, never pairs of ops.

    `turns` is program order where it is not given.
    """
    successors: list[list[int]] = [[] for _ in range(ops + len(precedences))]
    for before, after in pairs:
        successors[before].append(after)
    for number, precedence in enumerate(precedences, start=ops):
        for op in precedence.before:
            successors[op].append(number)
        successors[number].extend(precedence.after)
    return Graph(ops, tuple(nodes), tuple(map(tuple, successors)), tuple(precedences), turns or range(ops))


def issue_order(graph: Graph) -> tuple[tuple[int, ...], frozenset[int]]:
    """The ops in issue order, and the nodes (virtual ones too) that a cycle keeps from being issued.

    Of the ops that may be issued, the first in `graph.turns` is next.
    """
    turn = _places(graph.turns)
    waiting = [0] * len(graph.successors)
    for after in graph.successors:
        for node in after:
            waiting[node] += 1
    virtual = range(graph.ops, len(graph.successors))
    ready = [node for node in (*graph.nodes, *virtual) if not waiting[node]]
    heap = [turn[node] for node in ready if node < graph.ops]
    passing = deque(node for node in ready if node >= graph.ops)
    heapq.heapify(heap)
    issued: list[int] = []
    done = 0
    while heap or passing:
        node = passing.popleft() if passing else graph.turns[heapq.heappop(heap)]
        done += 1
        if node < graph.ops:
            issued.append(node)
        for after in graph.successors[node]:
            waiting[after] -= 1
            if not waiting[after]:
                passing.append(after) if after >= graph.ops else heapq.heappush(heap, turn[after])
    if done == len(graph.nodes) + len(virtual):
        return tuple(issued), frozenset()
    return tuple(issued), frozenset(node for node in (*graph.nodes, *virtual) if waiting[node])


def _places(turns: Sequence[int]) -> Sequence[int]:
    """The place of each op in `turns`."""
    if isinstance(turns, range):
        return turns
    places = [0] * len(turns)
    for place, op in enumerate(turns):
        places[op] = place
    return places


def explain_cycle(
    graph: Graph, stuck: frozenset[int], names: Sequence[str], sources: Sequence[Span | None]
) -> list[Diagnostic]:
    """Why `stuck` cannot be issued: each precedence that runs against the data, else one cycle of precedences."""
    found: list[Diagnostic] = []
    virtual = [node for node in sorted(stuck) if node >= graph.ops]
    for node in virtual:
        precedence = graph.precedences[node - graph.ops]
        data = frozenset(op for op in stuck if op < graph.ops)
        path = _path(graph, precedence.after, frozenset(precedence.before), data)
        if path:
            related = tuple(
                Related(span, f"`{names[op]}` {verb}")
                for op, verb in ((path[0], "must run first"), (path[-1], "needs what it makes"))
                if (span := sources[op]) is not None
            )
            shown = [f"`{names[op]}`" for op in path]
            found.append(rules.edge_against_data(precedence.span, precedence.label, shown, related))
    if found:
        return found
    for node in virtual:
        loop = _path(graph, graph.successors[node], frozenset((node,)), stuck)
        if loop:
            cycle = [graph.precedences[n - graph.ops] for n in (node, *loop[:-1]) if n >= graph.ops]
            shown = [f"`{names[n]}`" for n in loop if n < graph.ops]
            labels = [precedence.label for precedence in cycle]
            found.append(rules.cycle([p.span for p in cycle], labels, [*shown, shown[0]]))
            break
    return found


def _path(graph: Graph, starts: Iterable[int], goals: frozenset[int], inside: frozenset[int]) -> list[int]:
    """A shortest path from one of `starts` to one of `goals` over nodes `inside`; empty if there is none."""
    came: dict[int, int] = {node: node for node in starts if node in inside}
    queue = deque(came)
    while queue:
        node = queue.popleft()
        if node in goals:
            path = [node]
            while came[path[-1]] != path[-1]:
                path.append(came[path[-1]])
            return path[::-1]
        for after in graph.successors[node]:
            if after in inside and after not in came:
                came[after] = node
                queue.append(after)
    return []
