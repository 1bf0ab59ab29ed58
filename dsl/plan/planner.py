"""From a schedule and a trace to a program."""

from __future__ import annotations

from dataclasses import dataclass, replace

from streamsched.dsl.diagnostic import Diagnostic, Severity
from streamsched.dsl.plan.assemble import assemble
from streamsched.dsl.plan.collectives import collectives_of, ended, group_streams, settled, turns
from streamsched.dsl.plan.device import device_of
from streamsched.dsl.plan.index import TraceIndex
from streamsched.dsl.plan.order import build, explain_cycle, issue_order
from streamsched.dsl.plan.places import Locator
from streamsched.dsl.plan.resolve import resolve
from streamsched.dsl.plan.settings import settings_of
from streamsched.dsl.program.steps import Program
from streamsched.dsl.syntax.tree import Schedule
from streamsched.dsl.trace.model import Trace


@dataclass(frozen=True, slots=True)
class Plan:
    """What planning gives: a program, unless an error kept it from being made, and what was found on the way."""

    program: Program | None
    diagnostics: tuple[Diagnostic, ...]


def plan(
    schedule: Schedule, trace: Trace, base: str, target: str | None = None, index: TraceIndex | None = None
) -> Plan:
    """The program of `schedule` over `trace`.

    `base` is the schedule's folder, from which the trace's source files are named; `target` overrides the schedule's;
    `index` are the tables of that trace, where somebody keeps them from one plan to the next. The schedule must be
    free of syntax errors.
    """
    device, unread = device_of(schedule, base)
    settings = replace(settings_of(schedule, target), scoped=trace.scope is not None, device=device)
    index = index or TraceIndex(trace)
    locator = Locator(trace, base)
    resolved = resolve(schedule, settings, index, locator)
    found = [*unread, *resolved.diagnostics]
    if any(d.severity is Severity.ERROR for d in found):
        return Plan(None, tuple(found))
    collectives = collectives_of(trace, len(settings.streams), resolved)
    settings = replace(settings, streams=(*settings.streams, *group_streams(trace)))
    resolved = replace(resolved, precedences=ended(resolved.precedences, collectives))
    demanded = settled(index.dependencies, collectives) if collectives.groups else index.dependencies
    pairs = [(d.before, d.after) for d in demanded] + index.named
    graph = build(len(trace.ops), resolved.nodes, pairs, resolved.precedences, turns(trace, resolved, collectives))
    issued, stuck = issue_order(graph)
    if stuck:
        names = [trace.ops[op].name for op in range(len(trace.ops))]
        sources = [locator.source(op) if op in stuck else None for op in range(len(trace.ops))]
        return Plan(None, (*found, *explain_cycle(graph, stuck, names, sources)))
    return Plan(assemble(settings, resolved, trace, locator, collectives, issued, demanded, index.held), tuple(found))
