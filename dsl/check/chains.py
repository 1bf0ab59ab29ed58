"""Steps that weigh something, by stream: which of them may run at once, and how much they then weigh together."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from streamsched.dsl.check.antichain import Node, heaviest, some
from streamsched.dsl.program.clocks import Clocks


class Weight(NamedTuple):
    """What a step weighs; `waits` tells that it waits for other ranks."""

    step: int
    amount: int
    waits: bool = False


class _Stretch(NamedTuple):
    """Steps of one stream that are ordered alike with all others that weigh something. Only the heaviest of them
    counts, and the heaviest of those that wait. What comes behind any of a stream's stretches with the same `cut` comes
    behind all of them."""

    position: int
    seen: tuple[int, ...]
    cut: int
    heaviest: Weight
    waiting: Weight | None


class _Place(NamedTuple):
    """A step that waits, with the chain and the stretch that it lies in."""

    weight: Weight
    number: int
    place: int


_SAMPLES = 8
"""How many steps that wait are looked at to know how much mostly runs beside one."""

_Region: TypeAlias = dict[int, tuple[int, int]]
"""By chain: the stretches from the first to before the last."""

_Demand: TypeAlias = tuple[set[int], ...]
"""Steps that wait, in sets of those of one chain: one of each set has to be found."""


class Chains:
    """The stretches of each stream, in order."""

    def __init__(self, weights: Iterable[Weight], order: Clocks) -> None:
        by_stream: dict[int, list[Weight]] = {}
        for weight in weights:
            if weight.amount > 0:
                by_stream.setdefault(order.streams[weight.step], []).append(weight)
        seen = {order.seen[weight.step] for steps in by_stream.values() for weight in steps}
        cuts = [sorted(set(column)) for column in zip(*seen, strict=True)]
        self._streams = list(by_stream)
        self._chains = [list(_stretches(steps, cuts[stream], order)) for stream, steps in by_stream.items()]
        self._positions = [[stretch.position for stretch in chain] for chain in self._chains]
        self._seen = [list(zip(*(stretch.seen for stretch in chain), strict=True)) for chain in self._chains]
        self._peaks = [_peaks(chain) for chain in self._chains]
        self._bound = sum(max(stretch.heaviest.amount for stretch in chain) for chain in self._chains)

    def over(self, capacity: int) -> tuple[int, ...]:
        """The steps that weigh most of all that may run at once; none if they weigh no more than `capacity`."""
        whole = {number: (0, len(chain)) for number, chain in enumerate(self._chains)}
        found = self._heaviest(whole, capacity)
        return tuple(sorted(weight.step for weight in found))

    def waiting_over(self, capacity: int) -> Iterator[tuple[Weight, ...]]:
        """Sets of steps that may run at once, two or more of which wait for other ranks, and weigh over `capacity`.

        At least one is found if there is any. Each comes of a step that waits and is in none that was found before.
        """
        if self._bound <= capacity:
            return
        told: set[int] = set()
        places = self._unordered()
        # So many that what runs beside all of them is not much more than what runs beside one.
        samples = places[:: len(places) // _SAMPLES + 1]
        together = max((_size(self._beside([place])) for place in samples), default=1)
        for start in range(0, len(places), together):
            chosen = places[start : start + together]
            if self._heaviest(self._beside(chosen), capacity):
                for number in dict.fromkeys(each.number for each in chosen):
                    yield from self._with([each for each in chosen if each.number == number], capacity, told)

    def _unordered(self) -> list[_Place]:
        """The heaviest step that waits of each stretch, if it may run beside such a one that is issued before it."""
        places = sorted(
            _Place(stretch.waiting, number, place)
            for number, chain in enumerate(self._chains)
            for place, stretch in enumerate(chain)
            if stretch.waiting is not None
        )
        found: list[_Place] = []
        latest: dict[int, int] = {}
        for each in places:
            stretch = self._chains[each.number][each.place]
            latest.pop(self._streams[each.number], None)
            if any(position >= stretch.seen[stream] for stream, position in latest.items()):
                found.append(each)
            latest[self._streams[each.number]] = stretch.position
        return found

    def _with(self, places: Sequence[_Place], capacity: int, told: set[int]) -> Iterator[tuple[Weight, ...]]:
        """Sets with one of the places of a chain that was not told.

        Of a chain only one can be in a set, so that one flow tells of all of them; and one more for each other chain,
        where the heaviest set has no second step that waits.
        """
        number, steps = places[0].number, {each.weight.step for each in places}
        region = self._beside(places)
        demands: list[_Demand] = [()]
        for chain, (first, last) in region.items():
            waiting = {stretch.waiting.step for stretch in self._chains[chain][first:last] if stretch.waiting}
            if chain != number and waiting:
                demands.append((waiting,))
        for others in demands:
            found: tuple[Weight, ...] = ()
            while own := steps - told:
                demand = (own, *others)
                found = self._some(region, capacity, demand) or self._heaviest(region, capacity, demand)
                if sum(weight.waits for weight in found) < 2:
                    break
                told.update(weight.step for weight in found)
                yield found
            if not found and not others:
                return

    def _beside(self, places: Sequence[_Place]) -> _Region:
        """The places with what may run beside any of them."""
        ends: dict[int, tuple[int, int]] = {}
        for each in places:
            first, last = ends.get(each.number, (each.place, each.place))
            ends[each.number] = min(first, each.place), max(last, each.place)
        clocks = []
        for number, (first, _) in ends.items():
            clock = list(self._chains[number][first].seen)
            clock[self._streams[number]] = self._positions[number][first]
            clocks.append(clock)
        complete = clocks[0] if len(clocks) == 1 else list(map(min, *clocks))
        region: _Region = {}
        for chain, stream in enumerate(self._streams):
            begin = bisect_left(self._positions[chain], complete[stream])
            end = max(
                last + 1 if chain == number else self._behind(number, last, chain) for number, (_, last) in ends.items()
            )
            if begin < end:
                region[chain] = begin, end
        return region

    def _behind(self, number: int, place: int, chain: int) -> int:
        """The first stretch of a chain that starts only when a stretch of another is complete."""
        return bisect_right(self._seen[chain][self._streams[number]], self._positions[number][place])

    def _nodes(self, region: _Region, demand: _Demand = ()) -> tuple[list[Node], list[Weight]]:
        """What may be in the heaviest set of a region, as nodes, with the step that each stands for.

        Of a chain that a set of `demand` is of these are the steps demanded, which weigh more than all else.
        """
        demanded = set().union(*demand)
        found: list[tuple[Weight, Node]] = []
        for number, (first, last) in region.items():
            stream, chain, peaks = self._streams[number], self._chains[number], self._peaks[number]
            asked = [s for s in chain[first:last] if s.waiting and s.waiting.step in demanded] if demanded else []
            for stretch in asked:
                if stretch.waiting:
                    amount = stretch.waiting.amount + self._bound + 1
                    found.append((stretch.waiting, Node(amount, stream, stretch.position, stretch.seen)))
            if not asked:
                # A stretch that is no peak has its peak next to it, which may lie outside.
                begin, end = max(0, bisect_right(peaks, first) - 1), bisect_left(peaks, last - 1) + 1
                for place in peaks[begin:end]:
                    stretch = chain[place]
                    amount = stretch.heaviest.amount
                    found.append((stretch.heaviest, Node(amount, stream, stretch.position, stretch.seen)))
        found.sort()  # as they were issued: what is before another comes first
        return [node for _, node in found], [weight for weight, _ in found]

    def _some(self, region: _Region, over: int, demand: _Demand) -> tuple[Weight, ...]:
        """Steps as `_heaviest` finds them, two or more of which wait; none if they are not found at once."""
        nodes, weights = self._nodes(region, demand)
        numbers = sorted(range(len(nodes)), key=lambda n: (weights[n].waits, nodes[n].weight), reverse=True)
        chosen = some([nodes[number] for number in numbers], over + (self._bound + 1) * len(demand))
        found = tuple(weights[numbers[number]] for number in chosen)
        return found if sum(weight.waits for weight in found) > 1 else ()

    def _heaviest(self, region: _Region, over: int, demand: _Demand = ()) -> tuple[Weight, ...]:
        """The heaviest steps of a region that may run at once, with one of each set of `demand`; none if there are
        none, or if they weigh no more than `over`."""
        nodes, weights = self._nodes(region, demand)
        found = heaviest(nodes, over + (self._bound + 1) * len(demand))
        return tuple(weights[number] for number in found.nodes) if found else ()


def _size(region: _Region) -> int:
    return sum(last - first for first, last in region.values())


def _stretches(steps: Sequence[Weight], cuts: Sequence[int], order: Clocks) -> Iterator[_Stretch]:
    """The steps of a stream, given in order, as stretches. `cuts` are the places that others wait for."""
    stretch: _Stretch | None = None
    last: tuple[int, tuple[int, ...]] | None = None
    for weight in steps:
        position, seen = order.positions[weight.step], order.seen[weight.step]
        place = bisect_right(cuts, position), seen
        waiting = weight if weight.waits else None
        if stretch is None or place != last:
            if stretch is not None:
                yield stretch
            stretch, last = _Stretch(position, seen, place[0], weight, waiting), place
            continue
        rank = stretch.heaviest.amount, stretch.heaviest.waits
        if (weight.amount, weight.waits) > rank:
            stretch = stretch._replace(heaviest=weight)
        if waiting and (stretch.waiting is None or waiting.amount > stretch.waiting.amount):
            stretch = stretch._replace(waiting=waiting)
    if stretch is not None:
        yield stretch


def _peaks(chain: Sequence[_Stretch]) -> list[int]:
    """The stretches that can be in a heaviest set: there is none beside them that weighs as much, and that all may run
    beside that may run beside them."""
    kept: list[int] = []
    for place, stretch in enumerate(chain):
        amount = stretch.heaviest.amount
        while kept and chain[kept[-1]].seen == stretch.seen and chain[kept[-1]].heaviest.amount <= amount:
            kept.pop()
        if not (kept and chain[kept[-1]].cut == stretch.cut and chain[kept[-1]].heaviest.amount >= amount):
            kept.append(place)
    return kept
