"""A required order in brief: the steps that bind, of all that it names."""

from __future__ import annotations

from typing import NamedTuple

from streamsched.dsl.program.steps import Order, Program


class Bounds(NamedTuple):
    """By stream: the last step of an order's `before`, and the first of its `after`. Stream order gives the rest."""

    last: dict[int, int]
    first: dict[int, int]


def bounds_of(program: Program, order: Order) -> Bounds:
    """The bounds of one required order of `program`."""
    steps = program.steps
    last = {steps[index].stream: index for index in sorted(order.before)}
    first = {steps[index].stream: index for index in sorted(order.after, reverse=True)}
    return Bounds(last, dict(sorted(first.items(), key=lambda item: item[1])))
