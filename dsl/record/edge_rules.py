"""AUD: what a schedule declares that hand-written code is held against."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from streamsched.dsl.diagnostic import Diagnostic, Related, Severity, Span
from streamsched.dsl.program.clocks import Clocks, clocks
from streamsched.dsl.program.steps import Order, OrderKind, Program
from streamsched.dsl.record.matching import Part, match, operator_of, passing_ops
from streamsched.dsl.rule import rule
from streamsched.dsl.trace.model import NONE


@rule("AUD301", "edge-not-honoured", Severity.ERROR)
def edge_not_honoured(
    recorded: Program, pair: tuple[int, int], order: Order, related: tuple[Related, ...]
) -> Diagnostic:
    """The code lets start what an edge of the schedule lets wait.

    `audit --against FILE.sched` finds the ops of the schedule among what the code issues, and asks of each edge
    `a -> b` whether every kernel of `a` completes before any of `b` starts. Where no data asks for the order nothing
    else can tell that it is lost: numbers stay right, and what was staggered on purpose runs at once.

    Example, for the edge `dispatched -> gate_up`:

        dispatched = self.dispatch(x)
        with torch.npu.stream(shared):
            gate_up = self.gate_up(x)       # need not wait for the dispatch

    Use instead an event between them:

        dispatched = self.dispatch(x)
        done.record()
        with torch.npu.stream(shared):
            done.wait()
            gate_up = self.gate_up(x)
    """
    before, after = (recorded.steps[step] for step in pair)
    first, second = recorded.streams[before.stream].name, recorded.streams[after.stream].name
    return edge_not_honoured.diagnostic(
        after.source or recorded.span,
        f"`{order.label}` is not honoured: `{after.name}` on `{second}` may start before `{before.name}` on `{first}` "
        "completes",
        related=related,
        help=f"record an event on `{first}` after `{before.name}`, and let `{second}` wait for it before `{after.name}`"
        if first != second
        else f"issue `{before.name}` before `{after.name}`",
    )


@rule("AUD302", "edge-not-found", Severity.WARNING)
def edge_not_found(span: Span, label: str, missing: str) -> Diagnostic:
    """The code runs nothing that is one end of an edge of the schedule, so that the edge was not checked.

    Ops are found by what they compute: the operator, and the names of the weights and inputs that its operands come
    from. Code that computes the same by other operators, a fused kernel for example, or that took another branch in
    this run, has no such op.

    Example:

        out = fused_moe(x)           # and the schedule has edges between its parts

    Use instead a schedule of the code as it is:

        streamsched init --from "model.py:build" --input "x: bf16[64, 7168]"
    """
    return edge_not_found.diagnostic(
        span,
        f"`{label}` cannot be checked: the code runs nothing that is `{missing}`",
        help="give inputs and settings that run it, or the schedule of this code",
    )


def unhonoured(recorded: Program, parts: Iterable[Part], planned: Program) -> Iterator[Diagnostic]:
    """What each part of a recording does not honour of the plan's edges."""
    order_of = clocks(recorded)
    edges = [order for order in planned.required if order.kind is OrderKind.EDGE]
    for part in parts:
        found = match(recorded, part, planned)
        for edge in edges:
            yield from _checked(recorded, planned, edge, found, order_of)


def _checked(
    recorded: Program, planned: Program, edge: Order, found: dict[int, int], order_of: Clocks
) -> Iterator[Diagnostic]:
    ends = [[found[step] for step in steps if step in found] for steps in (edge.before, edge.after)]
    labels = edge.label.split(" -> ")
    for steps, matched, label in zip((edge.before, edge.after), ends, labels, strict=True):
        if not matched:
            if not _is_passing(planned, steps):
                yield edge_not_found(edge.span or planned.span, edge.label, label)
            return
    pair = _broken(recorded, ends[0], ends[1], order_of)
    if pair is not None:
        first = recorded.steps[pair[0]]
        told = ((first.source, f"`{first.name}` must complete first"), (edge.span, "the edge"))
        related = tuple(Related(span, words) for span, words in told if span is not None)
        yield edge_not_honoured(recorded, pair, edge, related)


def _is_passing(planned: Program, steps: Iterable[int]) -> bool:
    """Whether the steps may launch nothing, so that there may be nothing to find."""
    assert planned.trace is not None
    passing = passing_ops(planned.trace)
    ops = (planned.steps[step].op for step in steps)
    return all(op != NONE and operator_of(planned.trace.ops[op].target) in passing for op in ops)


def _broken(recorded: Program, before: list[int], after: list[int], order_of: Clocks) -> tuple[int, int] | None:
    """The last step of one end and the first of the other, of which the second need not wait for the first."""
    lasts = {recorded.steps[step].stream: step for step in sorted(before)}
    firsts = {recorded.steps[step].stream: step for step in sorted(after, reverse=True)}
    pairs = ((last, first) for first in firsts.values() for last in lasts.values())
    return next((pair for pair in pairs if not order_of.before(*pair)), None)


RULES = (edge_not_honoured, edge_not_found)
