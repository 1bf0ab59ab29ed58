"""What stands at a place of a schedule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from streamsched.dsl.syntax.tree import (
    BeforeStatement,
    CostStatement,
    DifferenceSelector,
    EdgeStatement,
    GroupSelector,
    GroupStatement,
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
from streamsched.lsp.places import Place


@dataclass(frozen=True, slots=True)
class GroupName:
    """A group's name, where it is declared or used."""

    name: Name
    declares: bool


@dataclass(frozen=True, slots=True)
class StreamName:
    """A stream's name, where it is declared or used."""

    name: Name
    declares: bool


Symbol: TypeAlias = GroupName | StreamName


def symbols(schedule: Schedule) -> Iterator[Symbol]:
    """Every place where a group or a stream is named, in the order of the text."""
    for statement in schedule.statements:
        match statement:
            case StreamStatement(names):
                yield from (StreamName(name, True) for name in names)
            case GroupStatement(name, selector):
                yield GroupName(name, True)
                yield from _used(selector)
            case PlacementStatement(selectors, stream):
                yield from (symbol for selector in selectors for symbol in _used(selector))
                yield StreamName(stream, False)
            case CostStatement(group):
                yield GroupName(group, False)
            case _:
                yield from (symbol for selector in selectors_of(statement) for symbol in _used(selector))


def symbol_at(named: Iterable[Symbol], place: Place) -> Symbol | None:
    """That of `named` which is at `place`."""
    return next((symbol for symbol in named if place.inside(symbol.name.span)), None)


def statement_at(schedule: Schedule, place: Place) -> Statement | None:
    """The statement at `place`."""
    return next((statement for statement in schedule.statements if place.inside(statement.span)), None)


def selector_at(schedule: Schedule, place: Place) -> Selector | None:
    """The innermost selector at `place`."""
    found: Selector | None = None
    statement = statement_at(schedule, place)
    around = [*selectors_of(statement)] if statement is not None else []
    while True:
        inner = next((selector for selector in around if place.inside(selector.span)), None)
        if inner is None:
            return found
        found, around = inner, list(operands(inner))


def selectors_of(statement: Statement) -> Iterator[Selector]:
    """The selectors of a statement, left to right."""
    match statement:
        case GroupStatement(_, selector):
            yield selector
        case PlacementStatement(selectors):
            yield from selectors
        case EdgeStatement(stages) | BeforeStatement(stages):
            yield from (selector for stage in stages for selector in stage)


def operands(selector: Selector) -> Iterator[Selector]:
    """What a selector is made of."""
    match selector:
        case RangeSelector(left, right):
            yield from (left, right)
        case UnionSelector(left, right) | IntersectionSelector(left, right) | DifferenceSelector(left, right):
            yield from (left, right)
        case IndexSelector(operand):
            yield operand


def _used(selector: Selector) -> Iterator[GroupName]:
    if isinstance(selector, GroupSelector):
        yield GroupName(Name(selector.name, span=selector.span), False)
    for operand in operands(selector):
        yield from _used(operand)
