"""Accesses to storages that nothing orders."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from streamsched.dsl.check.progress import Clock, Progress
from streamsched.dsl.program.clocks import Clocks, advance, clocks
from streamsched.dsl.program.steps import Hazard, Program, Step


class Race(NamedTuple):
    """Two steps that touch one storage, one of them writing, with nothing to order them.

    `before` and `after` are in issue order, which is the order that the data demands.
    """

    before: int
    after: int
    storage: int
    hazard: Hazard


def missing_waits(program: Program) -> Iterator[tuple[Race, ...]]:
    """The waits that the data demands and nothing implies; each with all the dependencies that ask for it.

    Every step is held against the last writer of what it touches and, for a write, the readers since, latest-issued
    first. A wait that is missing is taken as mended before the next is looked for, so that what remains are the
    cross-stream edges of the transitive reduction. Time grows with accesses, and with streams for each wait.
    """
    progress = Progress(len(program.streams))
    accesses = _Accesses()
    places: list[int] = []
    started: list[Clock] = []
    for index, step in enumerate(program.steps):
        stream = step.stream
        if step.runs:
            for before, races in accesses.predecessors(index, step):
                other = program.steps[before].stream
                if places[before] >= progress.seen[stream][other]:
                    progress.wait(stream, advance(started[before], other, places[before] + 1))
                    yield _of_storages(program, races)
            accesses.add(index, step)
        started.append(progress.seen[stream])
        places.append(progress.counts[stream])
        progress.issue(step)


class _Accesses:
    """The last writer of each storage, or part of one, with its stream, and by stream the last readers since."""

    def __init__(self) -> None:
        self.writers: dict[int, tuple[int, int]] = {}
        self.readers: dict[int, dict[int, int]] = {}

    def predecessors(self, index: int, step: Step) -> Iterable[tuple[int, tuple[Race, ...]]]:
        """What `step` must follow on other streams, latest-issued first, each with the reasons."""
        stream, found = step.stream, []
        reads, writes = step.touched
        for storage in reads:
            writer = self.writers.get(storage)
            if writer is not None and writer[1] != stream:
                found.append(Race(writer[0], index, storage, Hazard.RAW))
        for storage in writes:
            writer = self.writers.get(storage)
            if writer is not None and writer[1] != stream and storage not in reads:
                found.append(Race(writer[0], index, storage, Hazard.WAW))
            for other, reader in self.readers.get(storage, _NOBODY).items():
                if other != stream:
                    found.append(Race(reader, index, storage, Hazard.WAR))
        return _latest_first(found) if found else ()

    def add(self, index: int, step: Step) -> None:
        """Note what `step` touches."""
        stream = step.stream
        reads, writes = step.touched
        for storage in reads:
            readers = self.readers.get(storage)
            if readers is None:
                self.readers[storage] = {stream: index}
            else:
                readers[stream] = index
        for storage in writes:
            self.writers[storage] = (index, stream)
            self.readers.pop(storage, None)


_NOBODY: Mapping[int, int] = {}


def _of_storages(program: Program, races: tuple[Race, ...]) -> tuple[Race, ...]:
    """Races over parts of storages as races over these, each once."""
    if not program.parts:
        return races
    return tuple(dict.fromkeys(race._replace(storage=program.storage_of(race.storage)) for race in races))


def _latest_first(races: list[Race]) -> list[tuple[int, tuple[Race, ...]]]:
    """The races by the step that comes before, latest-issued first."""
    grouped: dict[int, list[Race]] = {}
    for race in races:
        grouped.setdefault(race.before, []).append(race)
    return [(before, tuple(grouped[before])) for before in sorted(grouped, reverse=True)]


def races(program: Program) -> tuple[Race, ...]:
    """All pairs of steps that race, ordered by the later step. Their number may be quadratic; nothing is mended.

    A step that reads and writes a storage counts as a writer, as in `torch.cuda._sanitizer`.
    """
    order = clocks(program)
    written: dict[int, _ByStream] = {}
    read: dict[int, _ByStream] = {}
    found: list[Race] = []
    for index, step in enumerate(program.steps):
        if not step.runs:
            continue
        read_here, written_here = step.touched
        for storage in dict.fromkeys((*written_here, *read_here)):
            writes = storage in written_here
            hazard = Hazard.RAW if storage in read_here else Hazard.WAW
            earlier = [(before, hazard) for before in _unordered(written.get(storage, {}), index, order)]
            if writes:
                earlier += [(before, Hazard.WAR) for before in _unordered(read.get(storage, {}), index, order)]
            found += [Race(before, index, storage, hazard) for before, hazard in sorted(earlier, key=itemgetter(0))]
            by_stream = (written if writes else read).setdefault(storage, {})
            by_stream.setdefault(step.stream, []).append(index)
    return _of_storages(program, tuple(found))


_ByStream: TypeAlias = dict[int, list[int]]


def _unordered(earlier: _ByStream, index: int, order: Clocks) -> Iterator[int]:
    """Those of the steps `earlier`, given by stream in issue order, that need not be complete before step `index`."""
    for stream, steps in earlier.items():
        if stream != order.streams[index]:
            seen = order.seen[index][stream]
            yield from steps[bisect_left(steps, seen, key=order.positions.__getitem__) :]
