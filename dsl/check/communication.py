"""Collectives that nothing orders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from streamsched.dsl.program import via
from streamsched.dsl.program.clocks import Clocks, clocks
from streamsched.dsl.program.steps import Program, StepKind
from streamsched.dsl.trace.model import NONE


def unordered(order: Clocks, begun: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The collectives of `begun`, each with the next, that no sync orders. All are ordered if each is with the next."""
    for first, second in pairwise(begun):
        if not order.before(first, second):
            yield first, second


def clocks_by_issuer(program: Program) -> Clocks:
    """The clocks of `program`; a process group's queue is an order only for what is issued from one stream, and for
    what is known to go through it (`via.QUEUED`)."""
    return clocks(_by_issuer(program))


def _by_issuer(program: Program) -> Program:
    """`program` with a stream of its own for each stream that a process group's collectives are issued from, and for
    those in its queue."""
    streams = list(program.streams)
    numbers: dict[tuple[int, int], int] = {}
    issuers = _issuers(program)
    steps = list(program.steps)
    for index, issuer in issuers.items():
        step = steps[index]
        key = step.stream, issuer
        if key not in numbers:
            numbers[key] = len(streams)
            streams.append(program.streams[step.stream])
        steps[index] = replace(step, stream=numbers[key])
    return replace(program, streams=tuple(streams), steps=tuple(steps))


def _issuers(program: Program) -> dict[int, int]:
    """By step on a process group's stream: the issuer of the collective that it goes with, NONE for one in the queue. A
    wait goes with the next collective on its stream, a record with the last."""
    found: dict[int, int] = {}
    last: dict[int, int] = {}
    waiting: dict[int, list[int]] = {}
    for index, step in enumerate(program.steps):
        if not program.streams[max(step.stream, 0)].of_group:
            continue
        if step.runs:
            last[step.stream] = NONE if via.QUEUED in via.words(step) else step.issuer
            found.update(dict.fromkeys((*waiting.pop(step.stream, ()), index), last[step.stream]))
        elif step.kind is StepKind.WAIT:
            waiting.setdefault(step.stream, []).append(index)
        elif step.kind is StepKind.RECORD and step.stream in last:
            found[index] = last[step.stream]
    return found
