"""Steps that weigh something, by stream: which of them may run at once, and how much they then weigh together."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from streamsched.dsl.check.antichain import heaviest
from streamsched.dsl.program.clocks import Clocks


class Weight(NamedTuple):
    """What a step weighs; `waits` tells that it waits for other ranks."""

    step: int
    amount: int
    waits: bool = False


class _Stretch(NamedTuple):
    """Steps of one stream that are ordered alike with all others that weigh something. Only the heaviest of them
    counts, and the heaviest of those that wait."""

    position: int
    seen: tuple[int, ...]
    heaviest: Weight
    waiting: Weight | None


class _Place(NamedTuple):
    """A step that waits, with the chain and the stretch that it lies in."""

    weight: Weight
    number: int
    place: int


_TOGETHER = 48
"""How many steps that wait are looked at together before each is by itself."""

_Region: TypeAlias = dict[int, tuple[int, int]]
"""By chain: the stretches from the first to before the last."""


class Chains:
    """The stretches of each stream, in order."""

    def __init__(self, weights: Iterable[Weight], order: Clocks) -> None:
        by_stream: dict[int, list[Weight]] = {}
        for weight in weights:
            if weight.amount > 0:
                by_stream.setdefault(order.streams[weight.step], []).append(weight)
        seen = {order.seen[weight.step] for steps in by_stream.values() for weight in steps}
        self._streams = list(by_stream)
        self._chains = [
            list(_stretches(steps, sorted({clock[stream] for clock in seen}), order))
            for stream, steps in by_stream.items()
        ]
        self._positions = [[stretch.position for stretch in chain] for chain in self._chains]
        self._seen = [list(zip(*(stretch.seen for stretch in chain), strict=True)) for chain in self._chains]
        self._most = [_Most([stretch.heaviest.amount for stretch in chain]) for chain in self._chains]

    def over(self, capacity: int) -> tuple[int, ...]:
        """The steps that weigh most of all that may run at once; none if they weigh no more than `capacity`."""
        whole = {number: (0, len(chain)) for number, chain in enumerate(self._chains)}
        found = self._heaviest(whole, capacity)
        return tuple(sorted(weight.step for weight in found))

    def waiting_over(self, capacity: int) -> Iterator[tuple[Weight, ...]]:
        """Sets of steps that may run at once, two or more of which wait for other ranks, and weigh over `capacity`.

        At least one is found if there is any. Each comes of a step that waits and is in none that was found before.
        """
        if sum(most.whole for most in self._most) <= capacity:
            return
        told: set[int] = set()
        waiting = sorted(self._waiting())
        for start in range(0, len(waiting), _TOGETHER):
            for weight, number, place in self._doubtful(waiting[start : start + _TOGETHER], capacity):
                if weight.step not in told:
                    found = self._beside(weight, number, place, capacity)
                    if found:
                        told.update(each.step for each in found)
                        yield found

    def _waiting(self) -> Iterator[_Place]:
        """The heaviest step that waits of each stretch."""
        for number, chain in enumerate(self._chains):
            for place, stretch in enumerate(chain):
                if stretch.waiting is not None:
                    yield _Place(stretch.waiting, number, place)

    def _doubtful(self, places: Sequence[_Place], capacity: int) -> list[_Place]:
        """Those of the places that may be in a set that weighs more than `capacity`; none if one flow rules out all."""
        left: list[_Place] = []
        union: _Region = {}
        for each in places:
            region = self._region(each.number, each.place, capacity - each.weight.amount)
            if region:
                left.append(each)
                region[each.number] = each.place, each.place + 1
                for chain, (first, last) in region.items():
                    other_first, other_last = union.get(chain, (first, last))
                    union[chain] = min(first, other_first), max(last, other_last)
        return left if len(left) < 2 or self._heaviest(union, capacity) else []

    def _beside(self, weight: Weight, number: int, place: int, capacity: int) -> tuple[Weight, ...]:
        """A set with `weight`, which lies in a stretch of a chain, that weighs more than `capacity`; empty without."""
        spare = capacity - weight.amount
        region = self._region(number, place, spare)
        found = self._heaviest(region, spare)
        if not found or any(other.waits for other in found):
            return (weight, *found) if found else ()
        for chain, (first, last) in region.items():
            for index in range(first, last):
                other = self._chains[chain][index].waiting
                if other is None:
                    continue
                rest = self._common(region, chain, index)
                more = self._heaviest(rest, spare - other.amount)
                if more or spare < other.amount:
                    return (weight, other, *more)
        return ()

    def _region(self, number: int, place: int, capacity: int) -> _Region:
        """What may run beside a stretch; empty if it is seen to weigh no more than `capacity`."""
        bound = sum(most.whole for most in self._most) - self._most[number].whole
        region: _Region = {}
        for chain in range(len(self._chains)):
            if chain == number:
                continue
            if bound <= capacity:
                return {}
            first, last = self._beside_in(number, place, chain)
            bound += self._most[chain].between(first, last) - self._most[chain].whole
            if first < last:
                region[chain] = first, last
        return region if bound > capacity else {}

    def _common(self, region: _Region, number: int, place: int) -> _Region:
        """What of `region` may run beside a stretch of it."""
        found: _Region = {}
        for chain, (first, last) in region.items():
            if chain != number:
                other_first, other_last = self._beside_in(number, place, chain)
                if max(first, other_first) < min(last, other_last):
                    found[chain] = max(first, other_first), min(last, other_last)
        return found

    def _beside_in(self, number: int, place: int, chain: int) -> tuple[int, int]:
        """What of a chain may run beside a stretch of another."""
        before = bisect_left(self._positions[chain], self._seen[number][self._streams[chain]][place])
        return before, self._behind(number, place, chain)

    def _behind(self, number: int, place: int, chain: int) -> int:
        """The first stretch of a chain that starts only when a stretch of another is complete."""
        return bisect_right(self._seen[chain][self._streams[number]], self._positions[number][place])

    def _heaviest(self, region: _Region, over: int) -> tuple[Weight, ...]:
        """The heaviest steps of a region that may run at once; none if they weigh no more than `over`."""
        if not region:
            return ()
        stretches: list[_Stretch] = []
        begins: dict[int, int] = {}
        for chain, (first, last) in region.items():
            begins[chain] = len(stretches) - first
            stretches += self._chains[chain][first:last]
        chains = [range(begins[chain] + first, begins[chain] + last) for chain, (first, last) in region.items()]
        weights = [stretch.heaviest.amount for stretch in stretches]
        found = heaviest(weights, chains, list(self._arcs(region, begins)), over)
        return tuple(stretches[node].heaviest for node in found.nodes) if found else ()

    def _arcs(self, region: _Region, begins: dict[int, int]) -> Iterator[tuple[int, int]]:
        """The order between the chains of a region, without what follows from the rest."""
        for number, (first, last) in region.items():
            for chain, (start, end) in region.items():
                if chain == number:
                    continue
                following = end
                for place in range(last - 1, first - 1, -1):
                    behind = max(self._behind(number, place, chain), start)
                    if behind < following:
                        yield begins[number] + place, begins[chain] + behind
                        following = behind


class _Most:
    """The largest number of any stretch of a list, after work in proportion to its length times its logarithm."""

    def __init__(self, amounts: list[int]) -> None:
        self.whole = max(amounts)
        self._levels = [amounts]
        width = 1
        while 2 * width <= len(amounts):
            last = self._levels[-1]
            self._levels.append(list(map(max, last, last[width:])))
            width *= 2

    def between(self, first: int, last: int) -> int:
        """The largest from `first` to before `last`; 0 if there is none."""
        if first >= last:
            return 0
        level = (last - first).bit_length() - 1
        amounts = self._levels[level]
        return max(amounts[first], amounts[last - (1 << level)])


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
            stretch, last = _Stretch(position, seen, weight, waiting), place
            continue
        rank = stretch.heaviest.amount, stretch.heaviest.waits
        if (weight.amount, weight.waits) > rank:
            stretch = stretch._replace(heaviest=weight)
        if waiting and (stretch.waiting is None or waiting.amount > stretch.waiting.amount):
            stretch = stretch._replace(waiting=waiting)
    if stretch is not None:
        yield stretch
