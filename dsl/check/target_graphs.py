"""TGT, graphs: what crosses the bounds of a graph, or leaves it open, under npugraph_ex."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from streamsched.dsl.check.describe import name, on_stream, placement, related, stream
from streamsched.dsl.check.facts import Facts
from streamsched.dsl.check.regions import is_graph_break
from streamsched.dsl.check.target_steps import is_npugraph_ex
from streamsched.dsl.diagnostic import Diagnostic, Severity
from streamsched.dsl.program import via
from streamsched.dsl.program.steps import DEFAULT, StepKind
from streamsched.dsl.rule import rule


@rule("TGT108", "stream-never-entered", Severity.ERROR)
def stream_never_entered(facts: Facts) -> Iterator[Diagnostic]:
    """npugraph_ex: a stream waits for an event and nothing is ever issued on it.

    The wait takes the stream into the capture. npugraph_ex joins the streams that were entered with a block, and this
    one was not: the capture fails with 107025.

    Example:

        ready.record()
        ready.wait(side)              # and no `with torch.npu.stream(side)` follows
        return x * 2

    Use instead no wait at all, or a block for what it protects:

        ready.record()
        with torch.npu.stream(side):
            ready.wait()
            y = torch.mm(x, w)

    References: seen on torch_npu 2.13.0.
    """
    program = facts.program
    if not is_npugraph_ex(facts):
        return
    for number in range(DEFAULT + 1, len(program.streams)):
        waits = [
            index
            for index in facts.of(StepKind.WAIT)
            if program.steps[index].stream == number and _in_graph(facts, index)
        ]
        records = [index for index in facts.of(StepKind.RECORD) if program.steps[index].stream == number]
        joined = bool(waits and records and records[-1] > waits[-1])
        if waits and not joined and not facts.by_stream[number]:
            yield stream_never_entered.diagnostic(
                placement(program, waits[0]),
                f"{stream(program, number)} waits for `{program.events[program.steps[waits[0]].event]}`, "
                "and nothing is ever issued on it",
                related=related(program, (waits[0], "the wait")),
                notes=("npugraph_ex does not join it, and the capture fails with 107025",),
                help="take out the wait, or issue what it protects inside a block of the stream",
            )


@rule("TGT109", "graph-break-in-block", Severity.ERROR)
def graph_break_in_block(facts: Facts) -> Iterator[Diagnostic]:
    """npugraph_ex: the graph breaks inside the block of a side stream.

    The second graph begins on a stream that it has not entered, and compiling fails with "Can not find stream: ... in
    FX graph". A `print`, a tensor in an `if`, or a call into a library that torch.compile cannot trace breaks a graph.

    Example:

        with torch.npu.stream(side):
            y = torch.mm(x, w)
            print(y.shape)            # breaks the graph
            z = y + 1

    Use instead `fullgraph=True`, which names the break, and move it out of the block:

        with torch.npu.stream(side):
            y = torch.mm(x, w)
            z = y + 1

    References: seen on torch_npu 2.13.0.
    """
    program = facts.program
    for index in facts.of(StepKind.CAPTURE_END) if is_npugraph_ex(facts) else ():
        step = program.steps[index]
        entered = via.block(step)
        if via.GRAPH_BREAK in via.words(step) and entered not in ("", program.streams[DEFAULT].name):
            yield graph_break_in_block.diagnostic(
                placement(program, index),
                f"the graph breaks inside the block of `{entered}`",
                related=related(program, (index, "the graph breaks here")),
                notes=("npugraph_ex refuses the second graph: it cannot find the stream",),
                help="compile with `fullgraph=True`, and move what breaks the graph out of the block",
            )


@rule("TGT110", "event-across-graphs", Severity.ERROR)
def event_across_graphs(facts: Facts) -> Iterator[Diagnostic]:
    """npugraph_ex: an event is recorded in one graph, or outside of all, and waited for in another.

    A graph has events of its own, made when it is captured. Where the code on both sides of a graph break uses one
    event, compiling the second part fails with a `KeyError` or "Can not find stream". Where the caller records it, or
    waits for it, all compiles, and the wait orders nothing: a race that eager mode does not have.

    Example:

        ready.record()
        y = compiled(x)               # ready.wait() inside waits for nothing

    Use instead the stream that the graph is replayed on, which is the caller's current one:

        ready.record()
        ready.wait()                  # the caller's stream waits, and the replay follows
        y = compiled(x)

    References: seen on torch_npu 2.13.0.
    """
    program = facts.program
    if not is_npugraph_ex(facts):
        return
    yield from _recorded_by_the_caller(facts)
    bounds = facts.of(StepKind.CAPTURE_BEGIN, StepKind.CAPTURE_END)
    records: dict[int, int] = {}
    for index in facts.of(StepKind.RECORD, StepKind.WAIT):
        step = program.steps[index]
        if step.kind is StepKind.RECORD:
            records[step.event] = index
            continue
        record = records.get(step.event, index)
        crossed = bounds[bisect_right(bounds, record) : bisect_right(bounds, index)]
        if not crossed:
            continue
        broken = any(via.GRAPH_BREAK in via.words(program.steps[bound]) for bound in crossed)
        begins = program.steps[crossed[0]].kind is StepKind.CAPTURE_BEGIN
        where = "graph break" if broken else "begin of the graph" if begins else "end of the graph"
        yield event_across_graphs.diagnostic(
            placement(program, index),
            f"`{program.events[step.event]}` is recorded before the {where} and waited for after it",
            related=related(program, (record, "the record"), (index, "the wait")),
            notes=("npugraph_ex refuses it" if broken else "it compiles without a word, and the wait orders nothing",),
            help="remove the graph break" if broken else "wait on the stream that calls the graph, outside of it",
        )


def _recorded_by_the_caller(facts: Facts) -> Iterator[Diagnostic]:
    """Those of a recorded forward, which does not hold what its caller issues."""
    program = facts.program
    for index in facts.of(StepKind.WAIT):
        if via.RECORDED_OUTSIDE in via.words(program.steps[index]):
            yield event_across_graphs.diagnostic(
                placement(program, index),
                f"`{program.events[program.steps[index].event]}` is recorded before forward() begins and waited for "
                "inside it",
                related=related(program, (index, "the wait")),
                notes=("it compiles without a word, and the wait orders nothing",),
                help="let the caller wait for it before it calls forward(): `event.wait()` on the current stream",
            )


@rule("TGT111", "work-before-graph", Severity.ERROR)
def work_before_graph(facts: Facts) -> Iterator[Diagnostic]:
    """npugraph_ex: a side stream has work from outside of the graph that also uses it, and nothing joins it before.

    A graph is replayed on the caller's current stream, whatever streams it was captured on: what the caller issued on
    the side stream before does not precede what the graph runs "there". It compiles without a word and is right in
    eager mode, where both lie on one stream.

    Example:

        with torch.npu.stream(side):
            x.copy_(host_x, non_blocking=True)
        y = compiled(x)               # forward() reads x on `side` too

    Use instead a join before the call:

        with torch.npu.stream(side):
            x.copy_(host_x, non_blocking=True)
            x_ready.record()
        x_ready.wait()
        y = compiled(x)

    References: seen on torch_npu 2.13.0.
    """
    program = facts.program
    if not is_npugraph_ex(facts):
        return
    ends = facts.of(StepKind.CAPTURE_END)
    for begin in facts.of(StepKind.CAPTURE_BEGIN):
        end = next((index for index in ends if index > begin), len(program.steps))
        since = max((index for index in ends if index < begin), default=-1)
        for number, steps in enumerate(facts.by_stream):
            before = [index for index in steps if since < index < begin]
            inside = [index for index in steps if begin < index < end]
            if number == program.steps[begin].stream or not before or not inside:
                continue
            if not facts.clocks.before(before[-1], begin):
                yield work_before_graph.diagnostic(
                    placement(program, inside[0]),
                    f"{on_stream(program, before[-1])} is issued before the graph that runs "
                    f"{name(program, inside[0])} there, and the graph does not wait for it",
                    related=related(program, (before[-1], "issued by the caller"), (inside[0], "runs in the graph")),
                    notes=("a graph is replayed on the caller's stream, not on those that it was captured on",),
                    help=f"record an event on {stream(program, number)} after {name(program, before[-1])}, and let the "
                    "caller's stream wait for it before the call",
                )


@rule("TGT112", "stream-left-set", Severity.ERROR)
def stream_left_set(facts: Facts) -> Iterator[Diagnostic]:
    """npugraph_ex: forward() ends with another stream current than it began with.

    Compiling fails with "you must make sure at the end of your code set stream to the same stream". Eagerly all that
    the caller issues from then on runs on that stream.

    Example:

        torch.npu.set_stream(side)
        return torch.mm(x, w)

    Use instead a block, which puts the stream back however it is left:

        with torch.npu.stream(side):
            y = torch.mm(x, w)
            y_done.record()
        y_done.wait()
        return y

    References: seen on torch_npu 2.13.0.
    """
    program = facts.program
    for index in facts.of(StepKind.EXIT) if is_npugraph_ex(facts) else ():
        if via.SET_STREAM in via.words(program.steps[index]):
            yield stream_left_set.diagnostic(
                placement(program, index),
                "forward() ends with another stream current than it began with",
                related=related(program, (index, "the stream is not put back")),
                notes=("npugraph_ex refuses the graph",),
                help="enter the stream with `with torch.npu.stream(...)`, or call `set_stream` with the first one",
            )


def _in_graph(facts: Facts, step: int) -> bool:
    """Whether a graph holds the step: a capture, or the whole forward where the program has none."""
    bounds = facts.of(StepKind.CAPTURE_BEGIN, StepKind.CAPTURE_END)
    bounds = [index for index in bounds if not is_graph_break(facts.program.steps[index])]
    return not bounds or bisect_right(bounds, step) % 2 == 1


RULES = (
    stream_never_entered,
    graph_break_in_block,
    event_across_graphs,
    work_before_graph,
    stream_left_set,
)
