"""Declared edges that the rest of the schedule implies."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from streamsched.dsl.check.bounds import Bounds
from streamsched.dsl.check.progress import Clock
from streamsched.dsl.program.clocks import Clocks, advance, join
from streamsched.dsl.program.steps import OrderKind, Program
from streamsched.dsl.trace.model import NONE


def redundant(program: Program, bounds: Sequence[Bounds], order: Clocks) -> list[int]:
    """The declared edges that can be taken out, all at once, and leave the same order; the numbers of `required`.

    Of two edges that imply each other the later goes. Each edge is one virtual node between its bounds, so that the
    time grows with the steps and the ends, not with their pairs. Of `order` only the places in the streams are read.
    """
    sweep = _Sweep(program, bounds, order)
    issue = _Issue(program)
    kept = set(range(len(bounds)))
    found: list[int] = []
    for number in reversed(range(len(bounds))):
        edge = program.required[number].kind is OrderKind.EDGE
        if edge and sweep.implied(number, kept) and issue.stays(number, kept):
            kept.discard(number)
            found.append(number)
    return found[::-1]


class _Sweep:
    """The clocks that stream order and the required orders give, the syncs of the program left aside."""

    def __init__(self, program: Program, bounds: Sequence[Bounds], order: Clocks) -> None:
        self.bounds = bounds
        self.places = order.positions
        self.arriving: dict[int, list[int]] = {}  # by step: the orders that first bind its stream there
        self.reached: dict[int, Clock] = {}  # by step of `arriving`: what stream order alone gives
        leaving: dict[int, list[int]] = {}
        for number, bound in enumerate(bounds):
            for index in bound.first.values():
                self.arriving.setdefault(index, []).append(number)
            for index in bound.last.values():
                leaving.setdefault(index, []).append(number)
        width = len(program.streams)
        seen: list[Clock] = [(0,) * width] * width
        self.nodes: list[Clock] = [(0,) * width] * len(bounds)
        for index in sorted(self.arriving.keys() | leaving.keys()):
            stream, place = order.streams[index], self.places[index]
            if index in self.arriving:
                self.reached[index] = advance(seen[stream], stream, place)
                for number in self.arriving[index]:
                    seen[stream] = join(seen[stream], self.nodes[number])
            for number in leaving.get(index, ()):
                self.nodes[number] = join(self.nodes[number], advance(seen[stream], stream, place + 1))

    def implied(self, number: int, kept: set[int]) -> bool:
        """Whether the orders in `kept` but `number`, and stream order, imply `number`.

        A way to one of its targets may lead through another of its own: that one is then implied as well, or the
        answer is no.
        """
        bound = self.bounds[number]
        for index in bound.first.values():
            seen = self.reached[index]
            for other in self.arriving[index]:
                if other != number and other in kept:
                    seen = join(seen, self.nodes[other])
            if any(self.places[source] >= seen[stream] for stream, source in bound.last.items()):
                return False
        return True


class _Issue:
    """What the edges do to the issue order: of the ops that may be issued, the earliest in program order is next."""

    def __init__(self, program: Program) -> None:
        self.program = program

    @cached_property
    def overtaken(self) -> list[int]:
        """By step: the last step before it whose op comes after its own in program order; NONE where none does."""
        found: list[int] = []
        larger: list[int] = []  # steps whose ops fall, each the nearest larger of the next
        for index, step in enumerate(self.program.steps):
            if step.op == NONE:
                found.append(NONE)
                continue
            while larger and self.program.steps[larger[-1]].op < step.op:
                larger.pop()
            found.append(larger[-1] if larger else NONE)
            larger.append(index)
        return found

    @cached_property
    def demanded(self) -> list[int]:
        """By step: the last step that the data makes it follow; NONE where there is none."""
        touched: dict[int, int] = {}
        written: dict[int, int] = {}
        found: list[int] = []
        for index, step in enumerate(self.program.steps):
            last = NONE
            for storage in step.reads:
                last = max(last, written.get(storage, NONE))
            for storage in step.writes:
                last = max(last, touched.get(storage, NONE))
            found.append(last)
            if step.runs:
                for storage in step.reads:
                    touched[storage] = index
                for storage in step.writes:
                    touched[storage] = written[storage] = index
        return found

    @cached_property
    def edges(self) -> dict[int, list[tuple[int, int]]]:
        """By step: the orders that it is behind, each after the last step of its `before`."""
        found: dict[int, list[tuple[int, int]]] = {}
        for number, order in enumerate(self.program.required):
            last = max(order.before)
            for index in order.after:
                found.setdefault(index, []).append((last, number))
        return found

    def stays(self, number: int, kept: set[int]) -> bool:
        """Whether the steps behind an edge are issued where they are without it.

        They are if, since the last of what they must follow else, only ops were issued that come before them in
        program order. What a program does not know, `before` statements and ops that name a value without reading it,
        can only make the answer too careful.
        """
        return all(self._stays(index, number, kept) for index in self.program.required[number].after)

    def _stays(self, index: int, number: int, kept: set[int]) -> bool:
        ready = self.demanded[index]
        if self.overtaken[index] <= ready:
            return True
        others = [last for last, other in self.edges[index] if other != number and other in kept]
        return self.overtaken[index] <= max(others, default=NONE)
