"""The windows of side streams: what runs there between two syncs, how long that takes, and what may run beside it.

Times are estimates from shapes and from the rates of the device, as if every kernel reached them. They serve to tell
what cannot pay; nothing is known of what an op takes in truth.
"""

from __future__ import annotations

import enum
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from streamsched.dsl.check.facts import Facts
from streamsched.dsl.devices.device import Device
from streamsched.dsl.program.steps import DEFAULT, StepKind
from streamsched.dsl.trace.costs import Cost

LEAST = 1.0
"""The microseconds that the smallest kernel takes."""
SYNC = 2.0
"""The microseconds that a record and its wait take on the device, together."""

_BUSY = 5.0


class Bound(enum.Enum):
    """What an op waits for most."""

    CUBE = "the cube cores"
    VECTOR = "the vector cores"
    MEMORY = "the bandwidth of the memory"
    LAUNCH = "its launch"  # it is too small to fill anything


class Window(NamedTuple):
    """Kernels on one side stream, in issue order, with how many syncs there are at its ends.

    `returns` tells that something waits for them, and not only for what comes behind.
    """

    stream: int
    steps: tuple[int, ...]
    syncs: int
    returns: bool


def windows(facts: Facts) -> Iterator[Window]:
    """What runs on side streams between a wait and the next."""
    program = facts.program
    for number in range(DEFAULT + 1, len(program.streams)):
        if program.streams[number].of_group:
            continue
        steps: list[int] = []
        before = after = 0
        for index in facts.of(StepKind.LAUNCH, StepKind.WAIT, StepKind.RECORD):
            step = program.steps[index]
            if step.stream != number:
                continue
            if step.kind is StepKind.WAIT:
                if steps:
                    yield Window(number, tuple(steps), before + after, after > 0)
                    steps, before, after = [], 0, 0
                before += 1
            elif step.kind is StepKind.RECORD:
                after += 1
            else:
                steps.append(index)
        if steps:
            yield Window(number, tuple(steps), before + after, after > 0)


def beside(facts: Facts, window: Window) -> list[int]:
    """The kernels on other streams that may run at the same time as a kernel of the window, in issue order."""
    order = facts.clocks
    first, last = window.steps[0], window.steps[-1]
    found: list[int] = []
    for stream, steps in enumerate(facts.by_stream):
        if stream == window.stream or not steps:
            continue
        start = bisect_left(steps, order.seen[first][stream], key=order.positions.__getitem__)
        for index in steps[start:]:
            if order.before(last, index):
                break
            if facts.program.steps[index].kind is StepKind.LAUNCH:
                found.append(index)
    return sorted(found)


def costs(facts: Facts, steps: Iterable[int]) -> list[Cost] | None:
    """What each of the steps costs; None where one of them is not known."""
    found: list[Cost] = []
    for index in steps:
        cost = facts.cost(index)
        if cost is None:
            return None
        found.append(cost)
    return found


def duration(device: Device, cost: Cost) -> float:
    """How many microseconds an op takes at least."""
    return max(LEAST, *_times(device, cost).values())


def bound(device: Device, found: Sequence[Cost]) -> Bound:
    """What ops wait for most, where that is four fifths of their time; LAUNCH where it is not one thing."""
    shares = dict.fromkeys(Bound, 0.0)
    for cost in found:
        times = _times(device, cost)
        most = max(times, key=lambda unit: times[unit])
        shares[most if times[most] >= _BUSY else Bound.LAUNCH] += max(LEAST, times[most])
    most = max(shares, key=lambda unit: shares[unit])
    return most if shares[most] >= 0.8 * sum(shares.values()) else Bound.LAUNCH


def _times(device: Device, cost: Cost) -> dict[Bound, float]:
    rate = device.cube_rate if cost.product else device.vector_rate
    unit = Bound.CUBE if cost.product else Bound.VECTOR
    return {unit: cost.flops / (rate * 2 / cost.width), Bound.MEMORY: cost.nbytes / device.byte_rate}
