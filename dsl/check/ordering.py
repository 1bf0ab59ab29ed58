"""ORD: is everything ordered that the data and the schedule demand, and nothing twice?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from streamsched.dsl.check.accesses import Race
from streamsched.dsl.check.bounds import Bounds
from streamsched.dsl.check.conflict import conflict, notes
from streamsched.dsl.check.describe import name, on_stream, placement, related, stream
from streamsched.dsl.check.edgefix import edge_fix
from streamsched.dsl.check.facts import Facts
from streamsched.dsl.check.redundancy import redundant
from streamsched.dsl.check.target_steps import is_npugraph_ex
from streamsched.dsl.check.typed import sync_between
from streamsched.dsl.diagnostic import Diagnostic, Edit, Fix, Severity, Span
from streamsched.dsl.program import via
from streamsched.dsl.program.steps import OrderKind, Program, StepKind
from streamsched.dsl.rule import rule
from streamsched.dsl.trace.model import NONE


@rule("ORD101", "missing-edge", Severity.ERROR)
def missing_edge(facts: Facts) -> Iterator[Diagnostic]:
    """Two ops on different streams touch the same memory, one of them writes, and nothing orders them.

    The dependency is one of three: RAW (a read of what another op writes), WAR (a write over what another op reads)
    or WAW (two writes). It counts through views, in-place ops and aliases; an allocation counts as a write. There is
    one finding for each wait that `sync auto` would add; dependencies which that wait covers too are listed as notes.

    Streams run independently of each other. Without an order the two ops may run in either order or at once, and the
    numbers are wrong, mostly only under load. In `sync explicit` every such dependency must be covered by declared
    edges; entry and exit are covered already.

    Example:

        group B   = value "B"
        group mm1 = value "mm1"       # mm1 = torch.mm(B, in4)
        mm1 on side                   # and nothing makes it wait for B

    Use instead an edge (the fix writes it), or let all of them be inferred:

        B -> mm1

    References: the CUDA C++ Programming Guide, "Streams"; torch.cuda.Stream.wait_event.
    """
    program = facts.program
    for races in facts.missing:
        first = races[0]
        ends = {program.steps[first.before].kind, program.steps[first.after].kind}
        if ends & {StepKind.ENTRY, StepKind.EXIT}:
            continue  # a stream that is not forked or not joined, which CAP reports
        yield missing_edge.diagnostic(
            placement(program, first.after, first.before),
            f"{conflict(program, first)}, and nothing orders them ({first.hazard.value})",
            related=related(
                program,
                (first.before, f"{on_stream(program, first.before)} must complete first"),
                (first.after, f"{on_stream(program, first.after)} must wait for it"),
            ),
            notes=notes(facts, races),
            help=_by_hand(program, first),
            fix=edge_fix(facts, first.before, first.after),
        )


def _by_hand(program: Program, race: Race) -> str:
    if program.insert is not None:
        return "`sync auto` infers the edges that are missing"
    return sync_between(program, race.before, race.after)


@rule("ORD102", "wait-before-record", Severity.ERROR)
def wait_before_record(facts: Facts) -> Iterator[Diagnostic]:
    """A wait is issued before the record of its event, or the event is never recorded.

    A wait on an event that has not been recorded yet is no error: it does nothing. What it was meant to order is not
    ordered. One host thread issues everything, so the record must come first in the code.

    Example:

        with torch.npu.stream(side):
            done.wait()               # nothing has recorded `done`: no wait at all
            y = torch.mm(x, w)
        done.record()

    Use instead the record first:

        done.record()
        with torch.npu.stream(side):
            done.wait()
            y = torch.mm(x, w)
    """
    program = facts.program
    records = {program.steps[index].event: index for index in facts.of(StepKind.RECORD)}
    recorded: set[int] = set()
    for index in facts.of(StepKind.RECORD, StepKind.WAIT):
        step = program.steps[index]
        if step.kind is StepKind.RECORD:
            recorded.add(step.event)
        if step.event in recorded or via.RECORDED_OUTSIDE in via.words(step):
            continue  # of the latter `event-across-graphs` tells
        event = program.events[step.event]
        late = records.get(step.event, NONE)
        parts = ((index, "the wait"), (late, "the record")) if late != NONE else ((index, "the wait"),)
        yield wait_before_record.diagnostic(
            _of_next(program, index),
            f"{stream(program, step.stream)} waits for `{event}`, which is "
            + ("recorded only later" if late != NONE else "never recorded"),
            related=related(program, *parts),
            notes=("a wait without a record before it does nothing",),
            help=f"record `{event}` before this wait is issued: `{event}.record()` on the stream that makes the data",
        )


@rule("ORD103", "unhonoured-edge", Severity.ERROR)
def unhonoured_edge(facts: Facts) -> Iterator[Diagnostic]:
    """A declared edge that the steps of the program do not honour.

    An edge `a -> b` says that every kernel of `a` completes before any kernel of `b` starts. A generated program
    honours its edges; one that was edited, or written by hand, may have lost the record or the wait. What
    `audit --against FILE.sched` finds of that is `edge-not-honoured`, AUD301.

    Example, for the edge `gate -> expert`:

        scores = self.gate(x)
        with torch.npu.stream(side):
            y = self.expert(x)        # no wait for what `gate` launched

    Use instead:

        scores = self.gate(x)
        gate_done.record()
        with torch.npu.stream(side):
            gate_done.wait()
            y = self.expert(x)
    """
    program = facts.program
    for order, bounds in zip(program.required, facts.bounds, strict=True):
        pair = _broken(facts, bounds) if order.kind is OrderKind.EDGE else None
        if pair is None:
            continue
        before, after = pair
        yield unhonoured_edge.diagnostic(
            order.span or program.span,
            f"`{order.label}` is not honoured: {on_stream(program, after)} may start before "
            f"{on_stream(program, before)} completes",
            related=related(
                program,
                (before, f"{name(program, before)} must complete first"),
                (after, f"{name(program, after)} must wait for it"),
            ),
            help=f"let {stream(program, program.steps[after].stream)} wait for an event recorded on "
            f"{stream(program, program.steps[before].stream)} after {name(program, before)}",
        )


def _broken(facts: Facts, bounds: Bounds) -> tuple[int, int] | None:
    """The first pair of steps, one of each end, of which the second need not wait for the first."""
    pairs = ((before, after) for after in bounds.first.values() for before in bounds.last.values())
    return next((pair for pair in pairs if not facts.clocks.before(*pair)), None)


@rule("ORD104", "redundant-edge", Severity.INFO)
def redundant_edge(facts: Facts) -> Iterator[Diagnostic]:
    """A declared edge that the other edges, entry, exit and the order within each stream imply.

    It costs nothing when the code runs: no event is made for it. But it claims that something depends on it, and the
    next reader has to find out that nothing does. Of edges that imply each other the last is reported, so that all
    that are reported can be taken out at once.

    Example:

        a -> b
        b -> c
        a -> c        # a -> b -> c says it

    Use instead the edges that are needed:

        a -> b
        b -> c
    """
    program = facts.program
    found = set(redundant(program, facts.bounds, facts.clocks))
    statements: dict[Span, set[int]] = defaultdict(set)
    for number, order in enumerate(program.required):
        if order.span is not None:
            statements[order.span].add(number)
    for number in sorted(found):
        order = program.required[number]
        fix = None
        if order.span is not None and statements[order.span] <= found:
            fix = Fix("take out the statement", (Edit(order.span, ""),), safe=True)
        yield redundant_edge.diagnostic(
            order.span or program.span,
            f"`{order.label}` is implied by stream order and the other edges",
            help=None if fix else f"take `{order.label}` out of the statement",
            fix=fix,
        )


@rule("ORD105", "event-recorded-twice", Severity.WARNING)
def event_recorded_twice(facts: Facts) -> Iterator[Diagnostic]:
    """An event is recorded twice in one forward.

    A wait means the last record issued before it. With two records of one event, moving a line changes which ops are
    waited for, without a word. For npugraph_ex it is an error, `event-recorded-twice-in-graph`, in place of this one.
    `audit`, which sees which record each wait found, has `event-recorded-again`, AUD105.

    Example:

        e.record(); ...; e.wait(side)
        e.record(); ...; e.wait(side)

    Use instead one event for each record:

        first.record(); ...; first.wait(side)
        second.record(); ...; second.wait(side)
    """
    program = facts.program
    if is_npugraph_ex(facts):
        return
    records: dict[int, list[int]] = defaultdict(list)
    for index in facts.of(StepKind.RECORD):
        records[program.steps[index].event].append(index)
    for event, indices in records.items():
        if len(indices) > 1:
            yield event_recorded_twice.diagnostic(
                _of_next(program, indices[1]),
                f"`{program.events[event]}` is recorded {len(indices)} times in one forward",
                related=related(program, (indices[0], "recorded here"), (indices[1], "and here")),
                help="use an event of its own for each record",
            )


@rule("ORD106", "unused-record", Severity.INFO)
def unused_record(facts: Facts) -> Iterator[Diagnostic]:
    """An event is recorded and no stream waits for it.

    A record alone orders nothing. Either it is left over, or the wait was forgotten; in the second case another
    finding tells what is unordered.

    Example:

        done = torch.npu.Event()
        done.record()
        y = x + 1                     # nobody waits for `done`

    Use instead no record, or the wait that was meant:

        with torch.npu.stream(side):
            done.wait()
    """
    program = facts.program
    awaited = {program.steps[index].event for index in facts.of(StepKind.WAIT)}
    for index in facts.of(StepKind.RECORD):
        step = program.steps[index]
        if step.event not in awaited and not {via.ENABLE_TIMING, via.QUERY} & via.words(step):
            yield unused_record.diagnostic(
                _of_next(program, index),
                f"`{program.events[step.event]}` is recorded on {stream(program, step.stream)}, "
                "and no stream waits for it",
                related=related(program, (index, "the record")),
                help="take out the record, or add the wait",
            )


def _of_next(program: Program, index: int) -> Span:
    """Where the step that a record follows, or a wait precedes, was placed."""
    step = program.steps[index]
    indices = range(index, len(program.steps)) if step.kind is StepKind.WAIT else range(index, NONE, -1)
    found = (i for i in indices if program.steps[i].runs and program.steps[i].stream == step.stream)
    return placement(program, index, *[i for i in [next(found, NONE)] if i != NONE])


RULES = (missing_edge, wait_before_record, unhonoured_edge, redundant_edge, event_recorded_twice, unused_record)
