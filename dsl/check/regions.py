"""The parts of a program that a stream must be forked into and joined out of: the forward itself, and captures."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from streamsched.dsl.check.facts import Facts
from streamsched.dsl.program import via
from streamsched.dsl.program.steps import Step, StepKind
from streamsched.dsl.trace.model import NONE


class Region(NamedTuple):
    """From step `begin` on the stream `origin` to step `end` there; `end` is behind the last step if it never ends.

    `captured` tells that a graph capture records it, so that nothing in it may need the host.
    """

    begin: int
    end: int
    origin: int
    captured: bool


def regions(facts: Facts) -> Iterator[Region]:
    """The forward, from entry to exit, and each captured part."""
    program = facts.program
    for opens, closes in ((StepKind.ENTRY, StepKind.EXIT), (StepKind.CAPTURE_BEGIN, StepKind.CAPTURE_END)):
        captured = opens is StepKind.CAPTURE_BEGIN or program.whole_graph or program.inside_graph
        begins, ends = ([i for i in facts.of(kind) if not is_graph_break(program.steps[i])] for kind in (opens, closes))
        for begin in begins:
            end = next((index for index in ends if index > begin), len(program.steps))
            yield Region(begin, end, program.steps[begin].stream, captured)


def is_graph_break(step: Step) -> bool:
    """Whether a bound is that of two graphs, each of which npugraph_ex forks and joins by itself."""
    return via.GRAPH_BREAK in via.words(step)


def unforked(facts: Facts, region: Region) -> dict[int, int]:
    """By stream: the first running step of each stream that was not forked from the region's origin before it.

    A stream is forked when it waits for an event that was recorded inside the region on a stream that is in it.
    """
    program = facts.program
    forked = {region.origin: region.begin}
    carried: set[int] = set()
    for index in facts.of(StepKind.RECORD, StepKind.WAIT, StepKind.HOST_SYNC):
        step = program.steps[index]
        if not region.begin < index < region.end:
            continue
        if step.kind is StepKind.RECORD:
            (carried.add if step.stream in forked else carried.discard)(step.event)
        elif step.kind is StepKind.WAIT and step.event in carried:
            forked.setdefault(step.stream, index)
        elif step.kind is StepKind.HOST_SYNC and (step.stream == NONE or step.stream in forked):
            forked = {stream: forked.get(stream, index) for stream in range(len(program.streams))}
    inside = _inside(facts, region)
    return {stream: steps[0] for stream, steps in inside.items() if steps[0] < forked.get(stream, region.end)}


def unjoined(facts: Facts, region: Region) -> dict[int, int]:
    """By stream: the last running step of each stream that the region's end does not wait for."""
    if region.end == len(facts.program.steps):
        return {}
    inside = _inside(facts, region)
    return {stream: steps[-1] for stream, steps in inside.items() if not facts.clocks.before(steps[-1], region.end)}


def _inside(facts: Facts, region: Region) -> dict[int, tuple[int, ...]]:
    """By stream, the origin left aside: the running steps between the region's begin and its end."""
    found: dict[int, tuple[int, ...]] = {}
    for stream, steps in enumerate(facts.by_stream):
        within = steps[bisect_left(steps, region.begin) : bisect_left(steps, region.end)]
        if within and stream != region.origin:
            found[stream] = within
    return found
