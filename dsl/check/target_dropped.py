"""TGT, dropped calls: what npugraph_ex leaves out of the graph without a word."""

from __future__ import annotations

from collections.abc import Iterator

from streamsched.dsl.check.describe import placement, related, stream
from streamsched.dsl.check.facts import Facts
from streamsched.dsl.check.target_steps import NPU, is_npugraph_ex, spelled
from streamsched.dsl.diagnostic import Diagnostic, Severity
from streamsched.dsl.program import via
from streamsched.dsl.program.steps import DEFAULT, StepKind
from streamsched.dsl.rule import rule


@rule("TGT116", "dropped-synchronize", Severity.ERROR)
def dropped_synchronize(facts: Facts) -> Iterator[Diagnostic]:
    """npugraph_ex: `torch.npu.synchronize()` in forward() is dropped.

    It compiles without a word. What it ordered in eager mode is not ordered in the graph.

    Example:

        a = x + 1
        torch.npu.synchronize()
        with torch.npu.stream(side):
            y = torch.mm(a, w)

    Use instead an event for the stream that needs the result:

        a = x + 1
        a_ready.record()
        with torch.npu.stream(side):
            a_ready.wait()
            y = torch.mm(a, w)

    References: seen on torch_npu 2.13.0.
    """
    program = facts.program
    for index in spelled(facts, via.DEVICE_SYNCHRONIZE, StepKind.HOST_SYNC) if is_npugraph_ex(facts) else ():
        yield dropped_synchronize.diagnostic(
            placement(program, index),
            "npugraph_ex drops `torch.npu.synchronize()` in forward()",
            related=related(program, (index, "the call")),
            notes=("it compiles without a word, and what the call ordered is not ordered",),
            help="record an event where the data is ready, and let the stream that needs it wait: `ready.record()`, "
            "`ready.wait()`",
        )


@rule("TGT117", "dropped-query", Severity.ERROR)
def dropped_query(facts: Facts) -> Iterator[Diagnostic]:
    """npugraph_ex: `event.query()` in forward() is dropped.

    torch.compile takes its answer for "yes" when it traces, and no code asks again: a loop that waits for the event
    does not wait, and a branch is taken once and for all. It compiles without a word.

    Example:

        a_ready.record()
        while not a_ready.query():
            pass
        with torch.npu.stream(side):
            y = torch.mm(a, w)

    Use instead a wait of the stream:

        a_ready.record()
        with torch.npu.stream(side):
            a_ready.wait()
            y = torch.mm(a, w)

    References: seen on torch_npu 2.13.0 with torch 2.13.0.
    """
    program = facts.program
    for index in spelled(facts, via.QUERY, StepKind.RECORD) if is_npugraph_ex(facts) else ():
        step = program.steps[index]
        yield dropped_query.diagnostic(
            placement(program, index),
            f"the host asks by `query` whether `{program.events[step.event]}`, recorded on "
            f"{stream(program, step.stream)}, is complete; in a graph the answer is always yes",
            related=related(program, (index, "the record")),
            notes=("it compiles without a word, and nothing waits for the event",),
            help="let the stream that needs the result wait for the event: "
            f"`{program.events[step.event]}.wait()` where it is current",
        )


@rule("TGT118", "dropped-timing", Severity.WARNING)
def dropped_timing(facts: Facts) -> Iterator[Diagnostic]:
    """npugraph_ex: an event with `enable_timing=True` measures nothing.

    The graph records an event of its own, without timing. `elapsed_time` then raises "Both events must be recorded
    before calculating elapsed time". The numbers that forward() returns are right.

    Example:

        begin = torch.npu.Event(enable_timing=True)
        begin.record()                # in forward()

    Use instead events around the call, or the profiler for what is inside:

        begin.record()
        y = compiled(x)
        end.record()

    References: seen on torch_npu 2.13.0.
    """
    program = facts.program
    for index in spelled(facts, via.ENABLE_TIMING, StepKind.RECORD) if is_npugraph_ex(facts) else ():
        yield dropped_timing.diagnostic(
            placement(program, index),
            f"`{program.events[program.steps[index].event]}` was made with `enable_timing`, which npugraph_ex drops",
            related=related(program, (index, "the record")),
            notes=("`elapsed_time` raises after the call",),
            help="record timing events around the call, not in forward()",
        )


@rule("TGT119", "limit-around-block", Severity.WARNING)
def limit_around_block(facts: Facts) -> Iterator[Diagnostic]:
    """NPU: `limit_core_num` around the block of a side stream does not reach what the block launches.

    It limits the stream that is current where it is entered. What the block launches takes all cores, in a graph and
    eagerly, so that the room which the limit was to leave for another stream is not there; where that one needs
    a number of cores at once, the two may wait for each other for ever.

    Example:

        with torch.npu.npugraph_ex.scope.limit_core_num(8, 16):
            with torch.npu.stream(side):
                y = torch.mm(x, w)    # on all cores

    Use instead the limit inside the block, or `stream=`:

        with torch.npu.stream(side):
            with torch.npu.npugraph_ex.scope.limit_core_num(8, 16):
                y = torch.mm(x, w)

    References: seen on torch_npu 2.13.0.
    """
    program = facts.program
    if not is_npugraph_ex(facts) and program.target != NPU:
        return
    for index in spelled(facts, via.LIMIT_AROUND_BLOCK, StepKind.LAUNCH):
        number = program.steps[index].stream
        if number != DEFAULT:
            yield limit_around_block.diagnostic(
                placement(program, index),
                f"`limit_core_num` stands around the block of {stream(program, number)} and does not limit it",
                related=related(program, (index, "takes all cores")),
                help="enter `limit_core_num` inside the block, or pass it `stream=`",
            )


RULES = (dropped_synchronize, dropped_query, dropped_timing, limit_around_block)
