"""Lifetimes across streams: when each storage is freed, and what keeps its block from being reused too early."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streamsched.dsl.plan.sync import Need, Sync
from streamsched.dsl.program.steps import DEFAULT, Hazard
from streamsched.dsl.trace.model import NONE


@dataclass(frozen=True, slots=True)
class Life:
    """One storage in issue order: `home`, the rank after which it is freed, and its last use on each foreign stream.

    `free` is NONE for what the program does not free (inputs, parameters, outputs).
    """

    storage: int
    home: int
    free: int
    foreign: tuple[tuple[int, int], ...]  # (stream, last rank)


@dataclass(frozen=True, slots=True)
class Protection:
    """What protects the lifetimes: `record_streams` are (rank, stream, storage), issued after that rank; `joins` are
    (rank, need): waits that home streams make before they reuse a block.
    """

    record_streams: tuple[tuple[int, int, int], ...]
    joins: tuple[tuple[int, Need], ...]


def lives(
    uses: Sequence[Sequence[int]],
    held: Sequence[Sequence[int]],
    homes: Mapping[int, int],
    streams: Sequence[int],
    kept: frozenset[int],
) -> list[Life]:
    """The lives of the storages that end while the program runs.

    `uses[rank]` are the storages that a rank reads or writes, `held[rank]` those that it only names (`empty_like`),
    which must live until then and no longer; `homes` gives the home stream of each storage that is allocated or, being
    the input of a part of the model, may be freed by the caller once it is used; `kept` are those that live on after
    exit.
    """
    last: dict[int, int] = {}
    foreign: dict[int, dict[int, int]] = {}
    for rank, stream in enumerate(streams[:-1]):
        for storage in uses[rank]:
            home = homes.get(storage)
            if home is None:
                continue
            last[storage] = rank
            if stream != home:
                foreign.setdefault(storage, {})[stream] = rank
        for storage in held[rank]:
            if storage in homes:
                last[storage] = rank
    return [
        Life(
            storage,
            homes[storage],
            NONE if storage in kept else last[storage],
            tuple(sorted(foreign.get(storage, {}).items())),
        )
        for storage in sorted(last)
    ]


def protect(lives: Sequence[Life], sync: Sync, mode: str, whole_graph: bool) -> Protection:
    """What `memory auto`, `record_stream` or `join` (`mode`) does for the lives.

    A storage is safe if its home stream, before the next rank issued there after the free, has waited for every
    foreign use. With no next rank in this call, the next is behind the entry of the next call, which follows exit.
    """
    record_streams: list[tuple[int, int, int]] = []
    joins: list[tuple[int, Need]] = []
    for life in lives:
        if life.free == NONE:
            if life.home != DEFAULT and not whole_graph:
                record_streams.append((len(sync.streams) - 1, DEFAULT, life.storage))
            continue
        reuse = sync.next_on(life.home, life.free)
        unsafe = [entry for entry in life.foreign if reuse != NONE and not sync.follows(reuse, entry[1])]
        if mode == "join":
            joins += [(reuse, Need(use, Hazard.WAR, life.storage)) for _, use in unsafe]
            continue
        recorded = life.foreign if mode == "record_stream" else _fewest(unsafe, life.free, sync)
        record_streams += [(use, stream, life.storage) for stream, use in recorded]
    return Protection(tuple(record_streams), tuple(joins))


def _fewest(uses: list[tuple[int, int]], free: int, sync: Sync) -> list[tuple[int, int]]:
    """Those of the uses (stream, last rank) whose streams the allocator must be told of.

    At the free it notes how far these streams have been issued, and with that all that they have waited for: the uses
    on other streams may be among it.
    """

    def covers(stream: int, use: int) -> bool:
        latest = max(rank for rank in range(free + 1) if sync.streams[rank] == stream)
        return latest == use or sync.follows(latest, use)

    needed = uses
    for entry in uses if len(uses) > 1 else ():
        others = [other for other in needed if other != entry]
        if all(any(covers(stream, use) for stream, _ in others) for _, use in uses):
            needed = others
    return needed
