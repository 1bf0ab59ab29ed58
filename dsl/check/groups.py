"""The groups of a program: where their steps lie, and names for new ones."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from streamsched.dsl.program.steps import Program, Step

_NO_NAMES = frozenset({"on", "before"})
"""The keywords that cannot be names."""


class Extent(NamedTuple):
    """The first and the last running step of a group in issue order, and how many it has."""

    first: int
    last: int
    size: int


def extents(program: Program) -> dict[int, Extent]:
    """Where the running steps of each group lie; a group without any has no extent."""
    found: dict[int, Extent] = {}
    for index, step in enumerate(program.steps):
        for group in step.groups if step.runs else ():
            known = found.get(group)
            found[group] = Extent(known.first, index, known.size + 1) if known else Extent(index, index, 1)
    return found


def new_groups(program: Program, steps: Iterable[int]) -> dict[int, str]:
    """By step: a name for a new group that holds it alone, after what its selector names. All names differ."""
    taken = {*_NO_NAMES, *(group.name for group in program.groups)}
    found: dict[int, str] = {}
    for index in steps:
        wanted = _identifier(program.steps[index])
        name, number = wanted, 1
        while name in taken:
            number += 1
            name = f"{wanted}_{number}"
        taken.add(name)
        found[index] = name
    return found


def _identifier(step: Step) -> str:
    """What the step's selector names, else its op, as an identifier."""
    quoted = re.search(r'"([^"]*)"', step.selector)
    text = re.sub(r"\W", "_", quoted[1] if quoted else step.name, flags=re.ASCII)
    return text if text[:1].isalpha() or text[:1] == "_" else f"op_{text}"
