"""What a schedule's statements mean for the ops of a trace: groups, placements, precedences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from streamsched.dsl.diagnostic import Diagnostic, Span
from streamsched.dsl.plan import rules
from streamsched.dsl.plan.index import Selection, TraceIndex
from streamsched.dsl.plan.order import Precedence
from streamsched.dsl.plan.places import Locator
from streamsched.dsl.plan.select import Selecting
from streamsched.dsl.plan.settings import Settings
from streamsched.dsl.program.steps import DEFAULT, Group, Holding
from streamsched.dsl.syntax.formatter import format_selector
from streamsched.dsl.syntax.tree import (
    BeforeStatement,
    EdgeStatement,
    GroupStatement,
    HoldingStatement,
    PlacementStatement,
    Schedule,
    Selector,
)


@dataclass(frozen=True, slots=True)
class Resolved:
    """A schedule held against a trace.

    `nodes` are the ops that have a place in a stream, in program order; `streams[op]` is the stream of an op;
    `members[op]` are the groups that hold it.
    """

    index: TraceIndex
    nodes: tuple[int, ...]
    streams: tuple[int, ...]
    groups: tuple[Group, ...]
    members: dict[int, tuple[int, ...]]
    precedences: tuple[Precedence, ...]
    holdings: tuple[Holding, ...]
    diagnostics: tuple[Diagnostic, ...]


@dataclass
class _Groups:
    """The groups met so far: named ones, and selectors that stand in a group's place, each text once."""

    selecting: Selecting
    known: dict[str, Group] = field(default_factory=dict)
    selections: dict[str, Selection] = field(default_factory=dict)

    def of(self, selector: Selector) -> tuple[str, Selection]:
        """The label and the ops of a selector where a group's name may stand."""
        label = format_selector(selector)
        if label not in self.selections:
            self.selections[label] = self.selecting.select(selector)
            self.known.setdefault(label, Group(label, selector.span))
        return label, self.selections[label]


def resolve(schedule: Schedule, settings: Settings, index: TraceIndex, locator: Locator) -> Resolved:
    """Evaluate every selector, place the ops, and collect the declared orders."""
    trace = index.trace
    declared = {s.name.text: s for s in schedule.statements if isinstance(s, GroupStatement)}
    selecting = Selecting(index, {name: s.selector for name, s in declared.items()})
    groups = _Groups(selecting)
    for name, statement in declared.items():
        groups.known[name] = Group(name, statement.span)
        groups.selections[name] = selecting.group(name)
    streams = _place(schedule, settings, groups, index, locator)
    precedences = _precedences(schedule, groups, index, locator)
    holdings = _holdings(schedule, groups, index)
    members: dict[int, tuple[int, ...]] = {}
    for number, label in enumerate(groups.known):
        for op in groups.selections[label]:
            members[op] = (*members.get(op, ()), number)
    return Resolved(
        index,
        tuple(index.kernels(range(len(trace.ops)))),
        tuple(streams),
        tuple(groups.known.values()),
        members,
        tuple(precedences),
        tuple(holdings),
        tuple(dict.fromkeys(selecting.diagnostics)),
    )


def _place(schedule: Schedule, settings: Settings, groups: _Groups, index: TraceIndex, locator: Locator) -> list[int]:
    """The stream of every op. A kernel placed twice, and a placement without a kernel, are reported."""
    streams = [DEFAULT] * len(index.trace.ops)
    placed: dict[int, Span] = {}
    for statement in schedule.statements:
        if not isinstance(statement, PlacementStatement):
            continue
        stream = settings.stream(statement.stream.text)
        for selector in statement.selectors:
            label, selection = groups.of(selector)
            kernels = index.kernels(selection)
            if selection and not kernels:
                groups.selecting.diagnostics.append(rules.no_kernel(selector.span, label, "the placement"))
            twice = [op for op in kernels if op in placed and streams[op] != stream]
            if twice:
                op = twice[0]
                names = (settings.streams[streams[op]].name, statement.stream.text)
                groups.selecting.diagnostics.append(
                    rules.op_on_two_streams(
                        selector.span, placed[op], index.trace.ops[op].name, locator.source(op), names, len(twice)
                    )
                )
            for op in kernels:
                if op not in placed:
                    placed[op] = selector.span
                    streams[op] = stream
            groups.known[label] = replace(groups.known[label], placed=statement.span, stream=stream)
    return streams


def _holdings(schedule: Schedule, groups: _Groups, index: TraceIndex) -> list[Holding]:
    """What is said of ops that hold cores. A selector without a kernel is reported."""
    found: list[Holding] = []
    for statement in schedule.statements:
        if not isinstance(statement, HoldingStatement):
            continue
        for selector in statement.selectors:
            label, selection = groups.of(selector)
            if selection and not index.kernels(selection):
                groups.selecting.diagnostics.append(rules.no_kernel(selector.span, label, f"`{statement.kind}`"))
            number = list(groups.known).index(label)
            limits = statement.aic, statement.aiv
            found.append(Holding(number, statement.kind == "collective", *limits, statement.span))
    return found


def _precedences(schedule: Schedule, groups: _Groups, index: TraceIndex, locator: Locator) -> list[Precedence]:
    """The declared edges and `before`s that have a kernel at both ends and none at both at once."""
    found: list[Precedence] = []
    for statement in schedule.statements:
        if not isinstance(statement, EdgeStatement | BeforeStatement):
            continue
        syncs = isinstance(statement, EdgeStatement)
        for first_stage, second_stage in pairwise(statement.stages):
            for first in first_stage:
                for second in second_stage:
                    found += _precedence((first, second), statement.span, syncs, groups, index, locator)
    return found


def _precedence(
    ends: tuple[Selector, Selector],
    span: Span,
    syncs: bool,
    groups: _Groups,
    index: TraceIndex,
    locator: Locator,
) -> list[Precedence]:
    """One declared order, or none and a finding."""
    report = groups.selecting.diagnostics.append
    labels: list[str] = []
    kernels: list[Sequence[int]] = []
    for end in ends:
        label, selection = groups.of(end)
        labels.append(label)
        kernels.append(index.kernels(selection))
        if selection and not kernels[-1]:
            report(rules.no_kernel(end.span, label, "the edge"))
    label = f" {'->' if syncs else 'before'} ".join(labels)
    shared = sorted(set(kernels[0]).intersection(kernels[1]))
    if shared:
        op = shared[0]
        report(rules.edge_shares_kernel(span, label, index.trace.ops[op].name, locator.source(op)))
    if shared or not all(kernels):
        return []
    return [Precedence(label, span, tuple(kernels[0]), tuple(kernels[1]), syncs)]
