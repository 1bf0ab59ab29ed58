"""The parts of a model that a schedule can move: its submodules, and the branches that the data leaves free to overlap.

A part is a submodule's call, or what a statement of the model's own issues in a row. Parts of which each feeds only
the next make a branch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from streamsched.dsl.plan.dependence import Dependency
from streamsched.dsl.trace.model import NONE, OpKind, StorageKind, Trace, refs

_WRAPS = 0.9
"""The share of the kernels that a submodule holds which is the model in all but name."""

_LIGHT = 0.05
"""A kernel of the model's own that touches less of the largest part's memory than this is not worth a stream."""


@dataclass(frozen=True, slots=True)
class Branch:
    """Some kernels, in program order. `label` is the path of the submodule that they are or end with, if any.

    `after` and `before` are the branches that it takes data from and gives data to, the implied ones left out;
    `beside` those that the data orders neither before nor behind it.
    """

    kernels: tuple[int, ...]
    labels: tuple[str, ...]
    after: tuple[int, ...]
    before: tuple[int, ...]
    beside: tuple[int, ...]


def branches_of(trace: Trace, demanded: Sequence[Dependency], call: int = 0) -> list[Branch]:
    """The branches inside of a module's call, the model's own unless given, in program order.

    `demanded` are the dependencies of the trace.
    """
    parts = _parts(trace, call)
    heavy = sum(1 << number for number in _heavy(trace, parts))
    graph = _Graph.of(_edges(demanded, parts), len(parts), heavy)
    return _branches(parts, _chains(parts, graph), graph)


def nbytes(trace: Trace, kernels: Sequence[int]) -> int:
    """How much memory some kernels read or write, each storage once; sizes that are not fixed count for nothing."""
    touched = {s for op in kernels for s in (*trace.ops[op].reads, *trace.ops[op].writes)}
    sizes = [trace.storages[s].nbytes for s in touched if trace.storages[s].kind.is_memory]
    return sum(size for size in sizes if isinstance(size, int) and size > 0)


def weights(trace: Trace, kernels: Sequence[int]) -> int:
    """How many bytes of parameters some kernels read."""
    read = {s for op in kernels for s in trace.ops[op].reads}
    found = [trace.storages[s].nbytes for s in read if trace.storages[s].kind is StorageKind.PARAMETER]
    return sum(size for size in found if isinstance(size, int))


@dataclass(frozen=True, slots=True)
class _Part:
    """Some kernels. `label` is the path of the submodule, if it is one; `named` tells that selectors have a name."""

    kernels: tuple[int, ...]
    label: str
    named: bool = True


def _parts(trace: Trace, inside: int) -> list[_Part]:
    """The submodules' calls and the statements between them; a submodule that is nearly all of the model is opened."""
    begin, end = trace.calls[inside].begin, trace.calls[inside].end
    every = [index for index in range(begin, end) if trace.ops[index].kind is not OpKind.VIEW]
    held: dict[int, list[int]] = {}
    while True:
        children = [n for n, call in enumerate(trace.calls) if call.parent == inside and call.begin < call.end]
        held |= {n: [op for op in every if trace.calls[n].begin <= op < trace.calls[n].end] for n in children}
        wraps = next((n for n in children if len(held[n]) >= _WRAPS * len(every)), NONE)
        if wraps == NONE or not any(call.parent == wraps for call in trace.calls):
            break
        del held[wraps]
        inside = wraps
    parts = [_Part(tuple(ops), trace.calls[n].label) for n, ops in held.items() if ops]
    return sorted([*parts, *_own(trace, every, {op for part in parts for op in part.kernels})], key=lambda p: p.kernels)


def _own(trace: Trace, every: Sequence[int], held: set[int]) -> Iterator[_Part]:
    """The kernels that no submodule holds: those that one statement issues in a row are one part."""

    def run(numbered: tuple[int, int]) -> tuple[int, int, int, int]:
        place, index = numbered
        op = trace.ops[index]
        return op.statement, op.visit, op.call, place - owned[index] if op.statement != NONE else index

    owned = {op: number for number, op in enumerate(op for op in every if op not in held)}
    numbered = [(place, op) for place, op in enumerate(every) if op in owned]
    for _, found in groupby(numbered, run):
        kernels = tuple(op for _, op in found)
        yield _Part(kernels, "", trace.ops[kernels[0]].call == 0)


def _heavy(trace: Trace, parts: Sequence[_Part]) -> list[int]:
    """The parts that are worth a stream: submodules with weights, and what does no less work than a share of theirs."""
    sizes = [nbytes(trace, part.kernels) for part in parts]
    weighty = [number for number, part in enumerate(parts) if part.label and weights(trace, part.kernels)]
    least = _LIGHT * max((sizes[number] for number in weighty or range(len(parts))), default=0)
    large = [n for n, part in enumerate(parts) if sizes[n] >= least and not _may_do_nothing(trace, part)]
    return sorted({*weighty, *large})


def _may_do_nothing(trace: Trace, part: _Part) -> bool:
    """Whether a kernel may be a mere view of what it is given, as `contiguous()` often is."""
    made = {v for op in part.kernels for v in refs(trace.ops[op].result)}
    return not part.label and any(len(trace.values[value].storages) > 1 for value in made)


def _edges(demanded: Sequence[Dependency], parts: Sequence[_Part]) -> set[tuple[int, int]]:
    """The pairs of parts of which the second needs the first."""
    part_of = {op: number for number, part in enumerate(parts) for op in part.kernels}
    ends = ((part_of.get(d.before, NONE), part_of.get(d.after, NONE)) for d in demanded)
    return {(before, after) for before, after in ends if before != after and NONE not in (before, after)}


@dataclass(frozen=True, slots=True)
class _Graph:
    """Parts in program order. `reach` and `reached` are bit sets: what follows from a part, and what it follows from;
    `after` and `before` are the neighbours that nothing else implies; `heavy` are the parts that are worth a stream."""

    reach: list[int]
    reached: list[int]
    after: list[list[int]]
    before: list[list[int]]
    heavy: int

    @staticmethod
    def of(edges: set[tuple[int, int]], size: int, heavy: int) -> _Graph:
        """The graph of some edges, each from an earlier part to a later one."""
        successors: list[list[int]] = [[] for _ in range(size)]
        for first, second in sorted(edges):
            successors[first].append(second)
        reach, reached = [0] * size, [0] * size
        after: list[list[int]] = [[] for _ in range(size)]
        before: list[list[int]] = [[] for _ in range(size)]
        for part in reversed(range(size)):
            for other in successors[part]:  # the nearest first, so that what it reaches is known to be implied
                if not reach[part] >> other & 1:
                    reach[part] |= 1 << other | reach[other]
                    before[part].append(other)
                    after[other].append(part)
        for part in range(size):
            for other in after[part]:
                reached[part] |= 1 << other | reached[other]
        return _Graph(reach, reached, after, before, heavy)

    def free(self, part: int) -> int:
        """The heavy parts that the data orders neither before nor behind one, as a bit set."""
        return self.heavy & ~(self.reach[part] | self.reached[part] | 1 << part)


def _chains(parts: Sequence[_Part], graph: _Graph) -> list[list[int]]:
    """The parts, each joined to the only one that it feeds if that needs nothing else.

    Submodules that nothing can run beside stay apart.
    """
    chain_of: dict[int, list[int]] = {}
    chains: list[list[int]] = []
    for part in range(len(graph.reach)):
        needed = graph.after[part]
        alone = len(needed) == 1 and graph.before[needed[0]] == [part]
        apart = not graph.free(part) and any(parts[each].label for each in (part, *needed))
        named = all(parts[each].named for each in (part, *needed))
        if alone and named and not apart and graph.free(part) == graph.free(needed[0]):
            chain = chain_of[needed[0]]
            chain.append(part)
        else:
            chain = [part]
            chains.append(chain)
        chain_of[part] = chain
    return chains


def _beside(chain: Sequence[int], graph: _Graph) -> set[int]:
    """The parts worth a stream that may run beside a branch that is, too."""
    if not any(graph.heavy >> part & 1 for part in chain):
        return set()
    return {other for other in range(len(graph.reach)) if graph.free(chain[0]) >> other & 1}


def _branches(parts: Sequence[_Part], chains: Sequence[list[int]], graph: _Graph) -> list[Branch]:
    number = {part: index for index, chain in enumerate(chains) for part in chain}

    def others(chain: Sequence[int], found: set[int]) -> tuple[int, ...]:
        return tuple(sorted({number[part] for part in found} - {number[chain[0]]}))

    return [
        Branch(
            tuple(sorted(op for part in chain for op in parts[part].kernels)),
            tuple(parts[part].label for part in chain if parts[part].label),
            others(chain, {other for part in chain for other in graph.after[part]}),
            others(chain, {other for part in chain for other in graph.before[part]}),
            others(chain, _beside(chain, graph)),
        )
        for chain in chains
    ]
