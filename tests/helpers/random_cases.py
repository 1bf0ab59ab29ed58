"""Random traces with random schedules over them, as hypothesis strategies, and what they require.

A `Case` knows what it asks for without the planner's help, so that a test can hold a plan against it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import networkx as nx
from hypothesis import strategies as st
from traces import TraceBuilder

from streamsched.dsl.trace.model import OpKind, Scope, StorageKind, Trace, refs

Ends = tuple[tuple[int, ...], tuple[int, ...]]
"""The kernels and allocations at both ends of an edge."""


@dataclass(frozen=True, repr=False)
class Case:
    """A trace and a schedule's statements.

    `streams[op]` names the stream of each op; `edges` and `befores` are the declared orders that have a kernel or an
    allocation at both ends.
    """

    trace: Trace
    statements: tuple[str, ...]
    streams: tuple[str, ...]
    edges: tuple[Ends, ...]
    befores: tuple[Ends, ...]

    def text(self, *settings: str) -> str:
        """The schedule, without its first two lines."""
        return "".join(f"{line}\n" for line in (*settings, *self.statements))

    def __repr__(self) -> str:
        """A text that shows a failing example on one screen."""

        def names(storages: tuple[int, ...]) -> str:
            return " ".join(self.trace.storages[storage].name for storage in storages)

        ops = [f"{op.name}: {op.kind.value} {names(op.reads)} -> {names(op.writes)}" for op in self.trace.ops]
        outputs = [self.trace.values[value].name for value in self.trace.outputs()]
        return "\n".join(("Case:", *ops, f"return {', '.join(outputs)}", *self.statements))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What hypothesis prints."""
        printer.text(repr(self))


@dataclass
class RandomTraceBuilder(TraceBuilder):
    """A builder that names its values itself."""

    made: list[str] = field(default_factory=list)

    def fresh(self) -> str:
        self.made.append(f"v{len(self.made)}")
        return self.made[-1]

    def empty_like(self, name: str, of: str) -> None:
        """An allocation that names a value without reading it."""
        storage = self.storage(name)
        self._op(name, "aten.empty_like.default", OpKind.ALLOCATE, [of], (), (storage,), (storage,))

    def fill(self, name: str, of: str) -> None:
        """An in-place op that reads nothing, as `zero_`."""
        lies = self._storages(of)
        self._op(name, "aten.zero_.default", OpKind.KERNEL, [of], (), lies, lies, self.names[of])


KINDS = ("kernel",) * 4 + ("inplace", "copies") * 2 + ("fill", "view", "factory", "random", "empty", "empty_like")


@st.composite
def traces(draw: st.DrawFn, largest: int = 12) -> Trace:
    """Traces of up to `largest` ops: kernels, in-place ops on anything, views, alias-or-copy, factories, random ops."""
    t = RandomTraceBuilder()
    inputs = [f"x{i}" for i in range(draw(st.integers(1, 3)))]
    t.input(*inputs)
    t.input("weight", kind=StorageKind.PARAMETER)
    t.input("buffer", kind=StorageKind.BUFFER)
    known = [*inputs, "weight", "buffer"]
    for _ in range(draw(st.integers(2, largest))):
        values = st.sampled_from(known)
        name, kind = t.fresh(), draw(st.sampled_from(KINDS))
        if kind == "kernel":
            t.kernel(name, *draw(st.lists(values, min_size=1, max_size=3, unique=True)))
        elif kind == "inplace":
            t.kernel(name, *draw(st.lists(values, max_size=1)), inplace=draw(values))
        elif kind == "fill":
            t.fill(name, draw(values))
        elif kind == "copies":
            t.kernel(name, copies=draw(values))
        elif kind == "random":
            t.kernel(name, draw(values), random=True)
        elif kind == "factory":
            t.kernel(name)
        elif kind == "view":
            t.view(name, draw(values))
        elif kind == "empty":
            t.empty(name)
        else:
            t.empty_like(name, draw(values))
        known.append(name)
    outputs = draw(st.lists(st.sampled_from([*inputs, *t.made]), min_size=1, max_size=3, unique=True))
    return t.build(*outputs)


@st.composite
def cases(draw: st.DrawFn, largest: int = 12, befores: bool = True) -> Case:
    """A random trace, of a model or of modules in scope, with placements on up to three side streams, and orders that
    make no cycle."""
    trace = draw(traces(largest))
    if draw(st.booleans()):
        trace = replace(trace, scope=Scope("layers.*", "", ("layers.0",)))
    ops = range(len(trace.ops))
    names = [op.name for op in trace.ops]
    sides = [f"s{i}" for i in range(1, draw(st.integers(1, 3)) + 1)]
    streams = tuple(draw(st.sampled_from(["default", "default", *sides])) for _ in ops)
    used = [side for side in sides if side in streams]
    statements = [f"stream {', '.join(used)}"] if used else []
    for side in used:
        placed = ", ".join(f'node "{names[op]}"' for op in ops if streams[op] == side)
        statements.append(f"{placed} on {side}")
    orders = nx.DiGraph(data_order(trace) + name_order(trace))
    orders.add_nodes_from(ops)
    declared: dict[str, list[Ends]] = {"->": [], "before": []}
    for number in range(draw(st.integers(0, 4))):
        word = draw(st.sampled_from(("->", "->", "->", "before"))) if befores else "->"
        ends = draw(_ends(len(trace.ops)))
        kernels = tuple(tuple(op for op in end if trace.ops[op].kind is not OpKind.VIEW) for end in ends)
        larger = orders.copy()
        larger.add_edges_from([(op, (word, number)) for op in kernels[0]])
        larger.add_edges_from([((word, number), op) for op in kernels[1]])
        if not nx.is_directed_acyclic_graph(larger):
            continue
        spelled = [
            draw(_spelled(f"g{number}{side}", end, names, statements)) for side, end in zip("ab", ends, strict=True)
        ]
        statements.append(f" {word} ".join(spelled))
        if all(kernels):
            orders = larger
            declared[word].append((kernels[0], kernels[1]))
    return Case(trace, tuple(statements), streams, tuple(declared["->"]), tuple(declared["before"]))


@st.composite
def _ends(draw: st.DrawFn, ops: int) -> Ends:
    """Two disjoint sets of ops."""
    sides = draw(st.lists(st.sampled_from("ab..."), min_size=ops, max_size=ops))
    first, second = (draw(st.integers(0, ops - 1)) for _ in "ab")
    ends = tuple(tuple(op for op in range(ops) if sides[op] == side) for side in "ab")
    if not all(ends):
        ends = ((first,), (second if second != first else (first + 1) % ops,))
    return ends[0], ends[1]


@st.composite
def _spelled(draw: st.DrawFn, name: str, end: tuple[int, ...], names: list[str], statements: list[str]) -> str:
    """The text of an edge's end: a new group, or the selector itself."""
    selector = " | ".join(f'node "{names[op]}"' for op in end)
    if draw(st.booleans()):
        statements.append(f"group {name} = {selector}")
        return name
    return selector


def data_order(trace: Trace) -> list[tuple[int, int]]:
    """All pairs of ops that the data orders: both touch a storage, and one writes it."""
    running = [(index, op) for index, op in enumerate(trace.ops) if op.kind is not OpKind.VIEW]
    return [
        (first, second)
        for (first, one), (second, other) in combinations(running, 2)
        if set(one.writes) & {*other.reads, *other.writes} or set(one.reads) & set(other.writes)
    ]


def name_order(trace: Trace) -> list[tuple[int, int]]:
    """The pairs of ops of which the second names what the first has made, read or not: order of issue, no sync."""
    made: dict[int, int] = {}
    pairs: list[tuple[int, int]] = []
    for index, op in enumerate(trace.ops):
        if op.kind is OpKind.VIEW:
            continue
        named = {
            storage for argument in op.args for value in refs(argument) for storage in trace.values[value].storages
        }
        pairs += [(made[storage], index) for storage in named if storage in made]
        for storage in op.writes:
            made.setdefault(storage, index)
    return pairs
