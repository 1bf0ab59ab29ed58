"""TGT, events: what compiles under npugraph_ex without a word and orders something else than it says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from streamsched.dsl.check.describe import placement, related, stream
from streamsched.dsl.check.facts import Facts
from streamsched.dsl.check.target_steps import is_npugraph_ex, spelled
from streamsched.dsl.diagnostic import Diagnostic, Severity
from streamsched.dsl.program import via
from streamsched.dsl.program.steps import DEFAULT, StepKind
from streamsched.dsl.rule import rule


@rule("TGT113", "record-by-stream", Severity.ERROR)
def record_by_stream(facts: Facts) -> Iterator[Diagnostic]:
    """npugraph_ex: an event is recorded by `stream.record_event(event)`.

    npugraph_ex takes the record for that of an event of its own: every wait for `event` then refers to one that was
    never recorded, and vanishes. It compiles without a word and is right in eager mode. `stream.wait_event(event)`
    alone is well understood.

    Example:

        torch.npu.current_stream().record_event(ready)
        with torch.npu.stream(side):
            ready.wait()

    Use instead the event's own call:

        ready.record()
        with torch.npu.stream(side):
            ready.wait()

    References: seen on torch_npu 2.13.0.
    """
    program = facts.program
    for index in spelled(facts, via.STREAM_RECORD_EVENT, StepKind.RECORD) if is_npugraph_ex(facts) else ():
        step = program.steps[index]
        event = program.events[step.event]
        yield record_by_stream.diagnostic(
            placement(program, index),
            f"`{event}` is recorded on {stream(program, step.stream)} by `stream.record_event`, "
            "and npugraph_ex drops every wait for it",
            related=related(program, (index, "the record")),
            notes=("it compiles without a word and gives wrong numbers",),
            help=f"write `{event}.record()`",
        )


@rule("TGT114", "default-in-side-block", Severity.ERROR)
def default_in_side_block(facts: Facts) -> Iterator[Diagnostic]:
    """npugraph_ex: an event is recorded on the default stream, or waited for there, inside a side stream's block.

    `event.record(default)`, `event.wait(default)` and `default.wait_event(event)` run on the stream of the block
    instead: the record comes too early, and the default stream does not wait. It compiles without a word and is right
    in eager mode. Other side streams may be named inside a block.

    Example:

        default = torch.npu.current_stream()
        with torch.npu.stream(side):
            y = torch.mm(x, w)
            y_done.record()
            y_done.wait(default)      # makes `side` wait for itself

    Use instead the call outside of the block:

        with torch.npu.stream(side):
            y = torch.mm(x, w)
            y_done.record()
        y_done.wait()

    References: seen on torch_npu 2.13.0.
    """
    program = facts.program
    default = program.streams[DEFAULT].name
    for index in facts.of(StepKind.RECORD, StepKind.WAIT) if is_npugraph_ex(facts) else ():
        step = program.steps[index]
        entered = via.block(step)
        if step.stream == DEFAULT and entered not in ("", default):
            done = "recorded" if step.kind is StepKind.RECORD else "waited for"
            yield default_in_side_block.diagnostic(
                placement(program, index),
                f"`{program.events[step.event]}` is {done} on {stream(program, DEFAULT)} inside the block of "
                f"`{entered}`, where npugraph_ex issues it on `{entered}`",
                related=related(program, (index, f"the {step.kind.value}")),
                notes=("it compiles without a word and gives wrong numbers",),
                help=f"move the {step.kind.value} out of the block",
            )


@rule("TGT115", "event-recorded-twice-in-graph", Severity.ERROR)
def event_recorded_twice_in_graph(facts: Facts) -> Iterator[Diagnostic]:
    """npugraph_ex: an event is recorded twice in one forward.

    The pass that turns ops in-place asks whether events order all readers before the op. It pairs any record of an
    event with any wait for it: with two records it finds an order that does not exist, and an op overwrites what
    another stream still reads. It compiles without a word and is right in eager mode. For other targets it is
    `event-recorded-twice`, a warning.

    Example:

        a = x + 1
        e.record()
        with torch.npu.stream(side):
            e.wait()
            b = torch.mm(a, w)
        c = a * 2                     # becomes a.mul_(2), while `side` reads `a`
        e.record()
        with torch.npu.stream(side):
            e.wait()

    Use instead one event for each record:

        first.record()
        second.record()

    References: seen on torch_npu 2.13.0; verify_cross_stream_event_protected in its npugraph_ex.
    """
    program = facts.program
    if not is_npugraph_ex(facts):
        return
    records: dict[int, list[int]] = defaultdict(list)
    for index in facts.of(StepKind.RECORD):
        records[program.steps[index].event].append(index)
    for event, indices in records.items():
        if len(indices) > 1:
            yield event_recorded_twice_in_graph.diagnostic(
                placement(program, indices[1]),
                f"`{program.events[event]}` is recorded {len(indices)} times in one forward, which misleads "
                "npugraph_ex about what it may overwrite",
                related=related(program, (indices[0], "recorded here"), (indices[1], "and here")),
                notes=("it compiles without a word and may give wrong numbers",),
                help="use an event of its own for each record",
            )


RULES = (record_by_stream, default_in_side_block, event_recorded_twice_in_graph)
