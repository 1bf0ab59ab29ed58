"""The schedule that a forward implements which uses streams by itself: its groups, placements and edges.

What its records and waits order is reduced to the fewest edges that say the same. On a side stream the kernels between
two ends of edges are a group; on the caller's stream what an edge begins or ends with is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from streamsched.dsl.draft.names import Names
from streamsched.dsl.draft.selectors import Kernels, Speller
from streamsched.dsl.plan.index import TraceIndex
from streamsched.dsl.plan.sync import Need, minimal_sync
from streamsched.dsl.program.clocks import advance, join
from streamsched.dsl.program.steps import DEFAULT
from streamsched.dsl.trace.collectives import group_of
from streamsched.dsl.trace.model import NONE, Trace
from streamsched.dsl.trace.streamed import Streamed, TracedStream

_ENDINGS = ("_done", "_ready", "_event", "_finished", "_evt")
"""What the name of an event says besides that of the work that it stands for."""


@dataclass(frozen=True, slots=True)
class Derived:
    """The statements of a derived schedule behind its head; `groups`, `edges` and `streams` count them."""

    text: str
    groups: int
    edges: int
    streams: int


def derived_schedule(trace: Trace, streamed: Streamed) -> Derived:
    """Streams, groups, placements and edges of a traced forward, from what it did with streams."""
    index = TraceIndex(trace)
    kernels = tuple(index.kernels(range(len(trace.ops))))
    edges = _edges(trace, streamed, kernels)
    namer = _Namer(Speller(index), _event_names(streamed, kernels))
    used = sorted({streamed.ops[op] for op in kernels} - {DEFAULT})
    segments = {stream: list(_segments(stream, streamed, kernels, edges)) for stream in used}
    groups = {kernels: namer.group(kernels) for stream in used for kernels in segments[stream]}
    streams = {stream: namer.stream(streamed.streams[stream]) for stream in used}
    ends = _Ends(trace, streamed, kernels, edges, [each for found in segments.values() for each in found], namer)
    arrows: dict[str, list[str]] = {}
    for before, after in edges:
        first, second = ends.before(before), ends.after(after)
        groups |= {each: namer.group(each) for each in (first, second)}
        arrows.setdefault(groups[first], []).append(groups[second])
    lines = [_declared(streams[stream], streamed.streams[stream]) for stream in used]
    ordered = sorted(groups, key=min)
    lines += ["", *(f"group {groups[each]} = {namer.speller.spell(each)}" for each in ordered), ""]
    lines += [f"{', '.join(groups[each] for each in segments[stream])} on {streams[stream]}" for stream in used]
    lines += ["", *(f"{before} -> {', '.join(dict.fromkeys(after))}" for before, after in arrows.items())]
    return Derived("\n".join(lines).strip("\n") + "\n", len(groups), len(edges), len(used))


def _declared(name: str, stream: TracedStream) -> str:
    options = [f"priority {stream.priority}"] if stream.priority is not None else []
    cores = [f"{kind} {count}" for kind, count in (("aic", stream.aic), ("aiv", stream.aiv)) if count is not None]
    options += [f"cores {', '.join(cores)}"] if cores else []
    return f"stream {name}" + (f" {{ {'; '.join(options)} }}" if options else "")


def _edges(trace: Trace, streamed: Streamed, kernels: Sequence[int]) -> list[tuple[int, int]]:
    """The fewest pairs of kernels (before, after) that, with the order of each stream, order what the code orders.

    What entry and exit imply is left out: a side stream waits for the first, and the last waits for it.
    """
    streams = [streamed.ops[op] for op in kernels]
    seen = _seen(streamed, kernels, streams)
    on_stream: dict[int, list[int]] = {}
    needs: list[list[Need]] = []
    for rank, stream in enumerate(streams):
        counts = {other: count for other, count in enumerate(seen[rank]) if other != stream and count}
        needs.append([Need(on_stream[other][count - 1]) for other, count in counts.items()])
        on_stream.setdefault(stream, []).append(rank)
    sync = minimal_sync(streams, len(streamed.streams), needs)
    collectives = {op for op in kernels if group_of(trace.ops[op], trace) != NONE}
    pairs = [(kernels[wait.before], kernels[rank]) for rank, waits in enumerate(sync.waits) for wait in waits]
    found = [(_ended(before, collectives, streamed, kernels), after) for before, after in pairs]
    return sorted({pair for pair in found if pair[0] != NONE}, key=lambda pair: pair[::-1])


def _ended(before: int, collectives: set[int], streamed: Streamed, kernels: Sequence[int]) -> int:
    """The last kernel up to `before` that its own stream completes: a collective runs on another."""
    if before not in collectives:
        return before
    on_stream = [op for op in kernels if op <= before and streamed.ops[op] == streamed.ops[before]]
    return next((op for op in reversed(on_stream) if op not in collectives), NONE)


def _seen(streamed: Streamed, kernels: Sequence[int], streams: Sequence[int]) -> list[tuple[int, ...]]:
    """By kernel: how many kernels of each stream its own has waited for."""
    width = len(streamed.streams)
    clocks = [(0,) * width] * width
    counts = [0] * width
    recorded: dict[int, tuple[int, ...]] = {}
    found: list[tuple[int, ...]] = []
    syncs = iter([*streamed.syncs, None])
    sync = next(syncs)
    for op, stream in zip(kernels, streams, strict=True):
        while sync is not None and sync.place <= op:
            if sync.is_wait:
                clocks[sync.stream] = join(clocks[sync.stream], recorded[sync.event])
            else:
                recorded[sync.event] = advance(clocks[sync.stream], sync.stream, counts[sync.stream])
            sync = next(syncs)
        found.append(clocks[stream])
        counts[stream] += 1
    return found


def _segments(
    stream: int, streamed: Streamed, kernels: Sequence[int], edges: Sequence[tuple[int, int]]
) -> Iterator[Kernels]:
    """The kernels of a stream between the ends of edges."""
    lasts, firsts = ({pair[side] for pair in edges} for side in (0, 1))
    segment: list[int] = []
    for op in kernels:
        if streamed.ops[op] != stream:
            continue
        if op in firsts and segment:
            yield frozenset(segment)
            segment = []
        segment.append(op)
        if op in lasts:
            yield frozenset(segment)
            segment = []
    if segment:
        yield frozenset(segment)


def _event_names(streamed: Streamed, kernels: Sequence[int]) -> dict[int, str]:
    """By kernel: the name of the event that is recorded behind it, less what says that it is an event."""
    found: dict[int, str] = {}
    for sync in streamed.syncs:
        before = [op for op in kernels if op < sync.place and streamed.ops[op] == sync.stream]
        stem = next((sync.name.removesuffix(end) for end in _ENDINGS if sync.name.endswith(end)), "")
        if before and stem and not sync.is_wait:
            found.setdefault(before[-1], stem)
    return found


@dataclass
class _Namer:
    """Names for streams and groups, after what the code calls them; streams and groups are separate namespaces."""

    speller: Speller
    events: Mapping[int, str]
    _groups: dict[Kernels, str] = field(default_factory=dict)
    _group_names: Names = field(default_factory=Names)
    _stream_names: Names = field(default_factory=Names)

    def group(self, kernels: Kernels) -> str:
        """The name of a group: the event recorded behind it, its local, or its module."""
        if kernels not in self._groups:
            module = self.speller.module(kernels)
            wanted = (self.events.get(max(kernels), ""), self.speller.local(kernels), module.split(".")[-1])
            self._groups[kernels] = self._group_names.new(*wanted)
        return self._groups[kernels]

    def stream(self, stream: TracedStream) -> str:
        """The name of a stream."""
        return self._stream_names.new(stream.name)


@dataclass(frozen=True)
class _Ends:
    """What edges begin and end with: on side streams the segments, on the caller's what has a name there."""

    trace: Trace
    streamed: Streamed
    kernels: Sequence[int]
    edges: Sequence[tuple[int, int]]
    segments: Sequence[Kernels]
    namer: _Namer

    def before(self, op: int) -> Kernels:
        """The group whose last kernel is `op`."""
        return self._segment(op) or self.namer.speller.ending(self._default(op, -1), op)

    def after(self, op: int) -> Kernels:
        """The group whose first kernel is `op`."""
        return self._segment(op) or self.namer.speller.beginning(self._default(op, 1), op)

    def _segment(self, op: int) -> Kernels | None:
        return next((segment for segment in self.segments if op in segment), None)

    def _default(self, op: int, direction: int) -> Kernels:
        """The kernels of the caller's stream up to `op`, or from it on."""
        own = (other for other in self.kernels if self.streamed.ops[other] == DEFAULT)
        return frozenset(other for other in own if (other - op) * direction >= 0)
