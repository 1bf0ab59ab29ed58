"""Ops that may run at once and hold more cores than the device has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from streamsched.dsl.check.chains import Chains, Weight
from streamsched.dsl.check.holders import ALL, Holder
from streamsched.dsl.devices.cores import Unit
from streamsched.dsl.program.clocks import Clocks
from streamsched.dsl.program.steps import Program

MOST = 20
"""How many sets are looked for: what mends one of them mostly mends others."""


class Overload(NamedTuple):
    """Holders that may run at once, at least two of them collectives, whose cores of a kind exceed the device's."""

    unit: Unit
    holders: tuple[Holder, ...]  # in issue order

    @property
    def ends(self) -> tuple[int, int]:
        """The steps that an order between would mend it: the first two collectives."""
        first, second = [holder.step for holder in self.holders if holder.collective][:2]
        return first, second


def capacity(program: Program, unit: Unit) -> int:
    """How many cores of a kind there are."""
    device = program.device
    return ALL if device is None else device.aic if unit is Unit.CUBE else device.aiv


def overloads(program: Program, found: Sequence[Holder], order: Callable[[], Clocks]) -> Iterator[Overload]:
    """The overloads of `program`, given what holds cores; each set of steps once. `order` gives its clocks."""
    if sum(holder.collective for holder in found) < 2:
        return
    told: set[tuple[int, ...]] = set()
    for unit in Unit:
        most = capacity(program, unit)
        weights = [Weight(holder.step, holder.cores(unit), holder.collective) for holder in found]
        by_step = {holder.step: holder for holder in found}
        for steps in islice(Chains(weights, order()).waiting_over(most), MOST):
            needed = tuple(sorted(_fewest(steps, most)))
            if needed not in told:
                told.add(needed)
                yield Overload(unit, tuple(by_step[step] for step in needed))


def _fewest(weights: Sequence[Weight], most: int) -> list[int]:
    """As few of the steps as exceed `most`, two of them collectives: the heaviest come first."""
    waiting = sorted((weight for weight in weights if weight.waits), key=_heaviest_first)
    rest = sorted({*weights, *waiting[2:]} - {*waiting[:2]}, key=_heaviest_first)
    taken = waiting[:2]
    for weight in rest:
        if sum(each.amount for each in taken) > most:
            break
        taken.append(weight)
    return [weight.step for weight in taken]


def _heaviest_first(weight: Weight) -> tuple[int, int]:
    return -weight.amount, weight.step
