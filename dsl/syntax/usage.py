"""The names of a schedule: where they are declared and where they are used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from streamsched.dsl.syntax.tree import (
    BeforeStatement,
    CostStatement,
    DifferenceSelector,
    EdgeStatement,
    GroupSelector,
    GroupStatement,
    HoldingStatement,
    IndexSelector,
    IntersectionSelector,
    Name,
    PlacementStatement,
    RangeSelector,
    Schedule,
    Selector,
    Statement,
    StreamStatement,
    UnionSelector,
)

DEFAULT = "default"
"""The stream that every schedule has without declaring it."""


@dataclass(frozen=True, slots=True)
class Names:
    """The names of one schedule, each list in the order of the text.

    `torn` are the words of statements that did not parse. A name among them may well be declared or used there, so
    nothing is said about it being undefined or unused. `complete` tells that every statement parsed.
    """

    schedule: Schedule
    streams: tuple[Name, ...]
    groups: tuple[Name, ...]
    stream_uses: tuple[Name, ...]
    group_uses: tuple[Name, ...]
    torn: frozenset[str]
    complete: bool


def collect(schedule: Schedule, torn: frozenset[str] | None = None) -> Names:
    """The names of `schedule`."""
    statements = schedule.statements
    return Names(
        schedule,
        streams=tuple(name for s in statements if isinstance(s, StreamStatement) for name in s.names),
        groups=tuple(s.name for s in statements if isinstance(s, GroupStatement)),
        stream_uses=tuple(s.stream for s in statements if isinstance(s, PlacementStatement)),
        group_uses=tuple(name for s in statements for name in used_groups(s)),
        torn=torn or frozenset(),
        complete=torn is None,
    )


def used_groups(statement: Statement) -> Iterator[Name]:
    """The groups that a statement names, but for the one that it defines."""
    if isinstance(statement, CostStatement):
        yield statement.group
    yield from _groups(selectors_of(statement))


def groups_in(selector: Selector) -> Iterator[Name]:
    """The groups that a selector names, from left to right."""
    return _groups(_parts(selector))


def _groups(selectors: Iterable[Selector]) -> Iterator[Name]:
    for selector in selectors:
        if isinstance(selector, GroupSelector):
            yield Name(selector.name, span=selector.span)


def selectors_of(statement: Statement) -> Iterator[Selector]:
    """The selectors in a statement and the operands in them, from left to right."""
    match statement:
        case GroupStatement(_, selector):
            yield from _parts(selector)
        case PlacementStatement(selectors) | HoldingStatement(_, selectors):
            for selector in selectors:
                yield from _parts(selector)
        case EdgeStatement(stages) | BeforeStatement(stages):
            for stage in stages:
                for selector in stage:
                    yield from _parts(selector)


def _parts(selector: Selector) -> Iterator[Selector]:
    """`selector` and all selectors in it."""
    waiting: list[Selector] = [selector]
    while waiting:
        part = waiting.pop()
        yield part
        match part:
            case (
                UnionSelector(left, right)
                | IntersectionSelector(left, right)
                | DifferenceSelector(left, right)
                | RangeSelector(left, right)
            ):
                waiting += (right, left)
            case IndexSelector(operand):
                waiting.append(operand)
