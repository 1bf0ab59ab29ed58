"""When memory is freed in a compiled graph: behind its last use, however long a variable of forward() holds it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from streamsched.dsl.program import via
from streamsched.dsl.program.steps import StepKind
from streamsched.dsl.record.log import Entry
from streamsched.dsl.record.memory import Block
from streamsched.dsl.trace.model import StorageKind


def freed_in_graph(entries: Iterable[Entry], blocks: list[Block], outputs: Collection[int]) -> list[Entry]:
    """The entries, with the memory that a graph makes and uses alone freed where its last op is done with it.

    What forward() returns, what it was given, and what a graph break hands on to the next graph stay as they are.
    """
    log = list(entries)
    last: dict[int, int] = {}
    graphs: dict[int, set[int]] = {}
    graph = 0
    for place, entry in enumerate(log):
        graph += entry.kind is StepKind.CAPTURE_BEGIN and via.GRAPH_BREAK in entry.words
        for storage in _used(entry):
            last[storage] = place
            graphs.setdefault(storage, set()).add(graph)
    freed: dict[int, list[Entry]] = {}
    moved: set[int] = set()
    for place, entry in enumerate(log):
        storage = entry.storage
        if entry.kind is not StepKind.FREE or storage in outputs or blocks[storage].kind is not StorageKind.OP:
            continue
        end = last.get(storage)
        if end is None or len(graphs[storage]) > 1 or log[end].call != entry.call:
            continue
        if any(log[between].kind is not StepKind.FREE for between in range(end + 1, place)):
            freed.setdefault(end, []).append(replace(entry, source=log[end].source, words=[via.LAST_USE]))
            moved.add(place)
    return [
        each
        for place, entry in enumerate(log)
        for each in (*(() if place in moved else (entry,)), *freed.get(place, ()))
    ]


def _used(entry: Entry) -> tuple[int, ...]:
    """The storages that an entry keeps from being freed before it."""
    named = (entry.storage,) if entry.kind in (StepKind.ALLOC, StepKind.RECORD_STREAM) else ()
    return (*entry.reads, *entry.writes, *named)
