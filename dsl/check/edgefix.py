"""The edit that adds a missing edge to a schedule."""

from __future__ import annotations

from typing import NamedTuple

from streamsched.dsl.check.facts import Facts
from streamsched.dsl.check.groups import Extent
from streamsched.dsl.diagnostic import Edit, Fix


class _End(NamedTuple):
    """One end of an edge: the text that names it, and the statement that defines it where the fix must add one."""

    text: str
    statement: str
    extent: Extent


def edge_fix(facts: Facts, before: int, after: int) -> Fix | None:
    """A fix that declares an edge from a group that holds the step `before` to one that holds `after`.

    Of the groups there are, it takes the smallest two of which one is issued wholly before the other, so that the
    edge leaves the issue order as it is; an end that no group fits gets a group of its own. None if there is no text
    to add to, or a step that no selector selects.
    """
    program = facts.program
    if program.insert is None:
        return None
    pairs = [
        (first, second)
        for first in _ends(facts, before)
        for second in _ends(facts, after)
        if first.extent.last < second.extent.first
    ]
    if not pairs:
        return None
    first, second = min(pairs, key=_cost)
    edge = f"{first.text} -> {second.text}"
    lines = [end.statement for end in (first, second) if end.statement] + [edge]
    opening = "\n" if program.insert.column > 1 else ""
    edit = Edit(program.insert, opening + "".join(f"{line}\n" for line in lines))
    return Fix(f"declare the edge `{edge}`", (edit,), safe=first.extent.size == second.extent.size == 1)


def _cost(pair: tuple[_End, _End]) -> tuple[int, int]:
    """Groups that are there come before new ones, then those that hold fewer steps."""
    first, second = pair
    return bool(first.statement) + bool(second.statement), first.extent.size + second.extent.size


def _ends(facts: Facts, index: int) -> list[_End]:
    """The groups that hold a step, and a new one for it alone."""
    step = facts.program.steps[index]
    ends = [_End(facts.program.groups[group].name, "", facts.extents[group]) for group in step.groups]
    if step.selector:
        new = facts.new_groups[index]
        ends.append(_End(new, f"group {new} = {step.selector}", Extent(index, index, 1)))
    return ends
