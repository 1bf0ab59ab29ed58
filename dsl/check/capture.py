"""CAP: can a graph capture record it?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from streamsched.dsl.check.describe import name, on_stream, placement, related, stream
from streamsched.dsl.check.facts import Facts
from streamsched.dsl.check.regions import regions, unforked, unjoined
from streamsched.dsl.check.target_steps import HOST_WAITS, is_npugraph_ex
from streamsched.dsl.check.typed import sync
from streamsched.dsl.diagnostic import Diagnostic, Severity
from streamsched.dsl.program import via
from streamsched.dsl.program.steps import Program, StepKind
from streamsched.dsl.rule import rule
from streamsched.dsl.trace.model import NONE, Op


@rule("CAP101", "unforked-stream", Severity.ERROR)
def unforked_stream(facts: Facts) -> Iterator[Diagnostic]:
    """A side stream runs something before it has waited for the stream that the forward, or the capture, began on.

    Eagerly the op may run before the inputs are ready, and before the last call is done with the memory that it gets.
    In a graph capture the op is not captured at all, or the capture fails. It counts even where the op reads no input.

    Example:

        with torch.npu.stream(side):
            mask = torch.ones(64, 64)

    Use instead a fork, even for an op that needs no data:

        inputs_ready.record()
        with torch.npu.stream(side):
            inputs_ready.wait()
            mask = torch.ones(64, 64)

    References: the CUDA C++ Programming Guide, "Cross-stream dependencies and events" of stream capture.
    """
    program = facts.program
    for region in regions(facts):
        begin = _boundary(program, region.begin)
        for side, index in unforked(facts, region).items():
            yield unforked_stream.diagnostic(
                placement(program, index),
                f"{stream(program, side)} is not forked: {name(program, index)} does not wait for {begin}",
                related=related(program, (region.begin, begin), (index, f"the first on {stream(program, side)}")),
                notes=("it may run before the inputs are ready, and no graph capture takes it in",),
                help=sync(program, region.origin, begin, side, name(program, index)),
            )


@rule("CAP102", "unjoined-stream", Severity.ERROR)
def unjoined_stream(facts: Facts) -> Iterator[Diagnostic]:
    """A side stream still runs when the forward, or the capture, ends.

    Eagerly the caller goes on without what the side stream makes, and the next call reuses memory that it still uses.
    A graph capture with an unjoined stream fails (107025 on an NPU, cudaErrorStreamCaptureUnjoined on a GPU).

    Example:

        with torch.npu.stream(side):
            y = torch.mm(x, w)
        return y

    Use instead a join before the end:

        with torch.npu.stream(side):
            y = torch.mm(x, w)
            y_done.record()
        y_done.wait()
        return y
    """
    program = facts.program
    for region in regions(facts):
        for side, index in unjoined(facts, region).items():
            if program.streams[side].of_group:
                continue  # `unawaited-collective` tells it
            end = _boundary(program, region.end)
            yield unjoined_stream.diagnostic(
                placement(program, index),
                f"{stream(program, side)} is not joined: {end} does not wait for {name(program, index)}",
                related=related(program, (index, f"the last on {stream(program, side)}"), (region.end, end)),
                notes=("the caller goes on while it still runs, and a graph capture fails",),
                help=sync(program, side, name(program, index), region.origin, end),
            )


@rule("CAP103", "host-sync-in-capture", Severity.ERROR)
def host_sync_in_capture(facts: Facts) -> Iterator[Diagnostic]:
    """The host waits for the device inside a captured region.

    While a graph is captured nothing runs, so that there is nothing to wait for: the capture fails, or under
    `torch.compile(fullgraph=True)` the trace does. `.item()`, `.tolist()`, `nonzero`, boolean indexing, a tensor in
    an `if`, and `synchronize()` all make the host wait.

    Example:

        if scores.max() > 0:          # the host waits for `scores`
            x = x * scores

    Use instead ops whose shapes and effects do not depend on data:

        x = torch.where(scores.max() > 0, x * scores, x)
    """
    program = facts.program
    for index in _captured(facts, _waiting(facts)):
        step = program.steps[index]
        if step.kind is not StepKind.HOST_SYNC:
            awaited = f"the result of {on_stream(program, index)}"
        else:
            awaited = "all streams" if step.stream == NONE else stream(program, step.stream)
        yield host_sync_in_capture.diagnostic(
            placement(program, index),
            f"the host waits for {awaited} inside a captured region",
            related=related(program, (index, "the host waits here")),
            notes=("nothing runs while a graph is captured",),
            help="keep data-dependent code out of the graph, or write it with `torch.where` and fixed shapes",
        )


@rule("CAP104", "random-op-in-capture", Severity.INFO)
def random_op_in_capture(facts: Facts) -> Iterator[Diagnostic]:
    """A random op is captured into a graph.

    That is allowed, and information only: the device's default generator is registered with every graph, and each
    replay draws new numbers. They are not those that eager mode draws from the same seed, so that a bit-exact
    comparison fails; and a generator of one's own must be registered with the graph, or the capture fails.

    Example:

        y = F.dropout(x, 0.1, training=True)

    Use instead, for inference:

        y = F.dropout(x, 0.1, training=False)

    References: torch.cuda.CUDAGraph.register_generator_state.
    """
    program = facts.program
    for index in _captured(facts, (index for index, op in _ops(facts) if op.random)):
        yield random_op_in_capture.diagnostic(
            placement(program, index),
            f"{on_stream(program, index)} draws random numbers inside a captured region",
            related=related(program, (index, "drawn here")),
            notes=("a replay draws other numbers than eager mode from the same seed",),
            help="register a generator of your own with the graph; the default one is",
        )


def _waiting(facts: Facts) -> list[int]:
    """The steps for which the host waits, but for the calls of which TGT says what npugraph_ex makes of them."""
    ops = [index for index, op in _ops(facts) if op.host_sync]
    told = HOST_WAITS if is_npugraph_ex(facts) else frozenset[str]()
    syncs = [index for index in facts.of(StepKind.HOST_SYNC) if not told & via.words(facts.program.steps[index])]
    return sorted(syncs + ops)


def _ops(facts: Facts) -> Iterator[tuple[int, Op]]:
    """The kernels with their ops in the trace, where there is one."""
    program = facts.program
    if program.trace is not None:
        for index in facts.of(StepKind.LAUNCH):
            op = program.steps[index].op
            if op != NONE:
                yield index, program.trace.ops[op]


def _captured(facts: Facts, steps: Iterable[int]) -> list[int]:
    """Those of the steps that a capture records."""
    captured = [region for region in regions(facts) if region.captured]
    return [index for index in steps if any(region.begin < index < region.end for region in captured)]


def _boundary(program: Program, index: int) -> str:
    """What begins or ends a region, in words."""
    kind = program.steps[index].kind
    words = {StepKind.CAPTURE_BEGIN: "the begin of the capture", StepKind.CAPTURE_END: "the end of the capture"}
    return words.get(kind) or name(program, index)


RULES = (unforked_stream, unjoined_stream, host_sync_in_capture, random_op_in_capture)
