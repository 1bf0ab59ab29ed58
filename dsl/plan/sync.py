"""Minimal sync: the fewest records and waits that honour a required order, for a given issue order.

The nodes here are *ranks*: places in issue order. Rank 0 is entry, the last rank is exit.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from streamsched.dsl.program.clocks import advance, join
from streamsched.dsl.program.steps import DEFAULT, Hazard
from streamsched.dsl.trace.model import NONE


class Need(NamedTuple):
    """The rank that owns this need must follow `before`: for a dependency on a storage, or for a required order."""

    before: int
    hazard: Hazard | None = None
    storage: int = NONE
    order: int = NONE


class Wait(NamedTuple):
    """A wait, right before a rank, on the record right after the rank `before`; `needs` are all that ask for it."""

    before: int
    needs: tuple[Need, ...]


@dataclass(frozen=True, slots=True)
class Sync:
    """The waits of each rank, with what each rank has seen: `seen[rank][stream]` of the stream's ranks are complete.

    `positions[rank]` is its place among the ranks of its stream; `by_issuer` are the ranks issued from each stream.
    """

    waits: tuple[tuple[Wait, ...], ...]
    streams: tuple[int, ...]
    positions: tuple[int, ...]
    seen: tuple[tuple[int, ...], ...]
    by_issuer: tuple[tuple[int, ...], ...]

    def follows(self, rank: int, earlier: int) -> bool:
        """Whether `rank` starts after `earlier` is complete."""
        if self.streams[rank] == self.streams[earlier]:
            return earlier < rank
        return self.positions[earlier] < self.seen[rank][self.streams[earlier]]

    def next_on(self, stream: int, rank: int) -> int:
        """The first rank that is issued from `stream` after `rank`; NONE if there is none."""
        ranks = self.by_issuer[stream]
        place = bisect_right(ranks, rank)
        return ranks[place] if place < len(ranks) else NONE


@dataclass(frozen=True, slots=True)
class Implied:
    """The sync that comes by itself: `issuers[rank]` is the stream that a rank is issued from, and which its own stream
    then waits for where it is another; `awaited` are, by rank, the ranks that it waits for.
    """

    issuers: Sequence[int]
    awaited: Mapping[int, Sequence[int]]


def minimal_sync(
    streams: Sequence[int], width: int, needs: Sequence[Sequence[Need]], implied: Implied | None = None
) -> Sync:
    """Sweep the ranks in issue order; wait only for what the clocks do not imply already.

    `streams` gives each rank's stream, of `width`; `needs[rank]` must all lie before it. Predecessors are taken
    latest-issued first, so that a wait which implies another comes first. The waits are the cross-stream edges of the
    transitive reduction of stream order and needs. The stream that a rank is issued from makes its waits.
    """
    issuers, awaited = (implied.issuers, implied.awaited) if implied else (streams, {})
    clocks = [(0,) * width] * width
    positions: list[int] = []
    seen: list[tuple[int, ...]] = []
    waits: list[tuple[Wait, ...]] = []
    counts = [0] * width
    by_issuer: list[list[int]] = [[] for _ in range(width)]
    for rank, stream in enumerate(streams):
        issuer = issuers[rank]
        clock = clocks[issuer]
        for before in awaited.get(rank, ()):
            clock = join(clock, advance(seen[before], streams[before], positions[before] + 1))
        found: list[Wait] = []
        for before, group in _latest_first(needs[rank], streams, {stream, issuer}):
            other = streams[before]
            if positions[before] >= clock[other]:
                clock = join(clock, advance(seen[before], other, positions[before] + 1))
                found.append(Wait(before, group))
        clocks[issuer] = clock
        if issuer != stream:
            clocks[stream] = clock = join(clocks[stream], advance(clock, issuer, counts[issuer]))
        positions.append(counts[stream])
        counts[stream] += 1
        by_issuer[issuer].append(rank)
        seen.append(clock)
        waits.append(tuple(found))
    return Sync(tuple(waits), tuple(streams), tuple(positions), tuple(seen), tuple(map(tuple, by_issuer)))


def order_needs(
    order: int, before: Sequence[int], after: Sequence[int], streams: Sequence[int]
) -> list[tuple[int, Need]]:
    """The needs of one required order, as (owner, need): the last rank of `before` on each stream is enough."""
    last: dict[int, int] = {}
    for rank in before:
        last[streams[rank]] = max(rank, last.get(streams[rank], NONE))
    wanted = [Need(rank, order=order) for rank in last.values()]
    return [(rank, need) for rank in after for need in wanted if streams[need.before] != streams[rank]]


def entry_and_exit(streams: Sequence[int]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The required pairs (before, after) of ranks: entry with each side stream's first rank, its last with exit."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for rank, stream in enumerate(streams):
        if stream != DEFAULT:
            first.setdefault(stream, rank)
            last[stream] = rank
    leave = len(streams) - 1
    return [(0, first[s]) for s in sorted(first)], [(last[s], leave) for s in sorted(last)]


def _latest_first(needs: Sequence[Need], streams: Sequence[int], own: Set[int]) -> list[tuple[int, tuple[Need, ...]]]:
    """The needs of other streams than its `own` by the rank they ask for, latest-issued first."""
    asked: dict[int, list[Need]] = {}
    for need in needs:
        if streams[need.before] not in own:
            asked.setdefault(need.before, []).append(need)
    return [(before, tuple(asked[before])) for before in sorted(asked, reverse=True)]
