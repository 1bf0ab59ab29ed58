"""AUD: what only a run of hand-written code can tell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from streamsched.dsl.diagnostic import Diagnostic, Related, Severity, Span
from streamsched.dsl.program.steps import Program
from streamsched.dsl.record import event_rules
from streamsched.dsl.record.side_use import used_side_streams
from streamsched.dsl.rule import rule
from streamsched.dsl.trace.model import NONE

if TYPE_CHECKING:
    from streamsched.dsl.record.recorder import Recorder


@rule("AUD101", "no-side-stream", Severity.WARNING)
def no_side_stream(recorder: Recorder, span: Span) -> Iterator[Diagnostic]:
    """Nothing ran on a side stream, so that nothing about streams was checked.

    Code that uses streams often does so behind a condition: a number of tokens, a flag, a capability of the device. A
    run that takes the other branch is no proof that the branch with streams is right. A collective is on the stream of
    its group, and counts where something is issued between it and the wait for it.

    Example:

        if x.shape[0] <= 256:         # and the example input has 1024 rows
            with torch.cuda.stream(self.side):
                shared = self.shared(x)

    Use instead an input, or a setting, that takes the branch:

        streamsched audit "model.py:build" --input "x: bf16[64, 7168]"
    """
    if not used_side_streams(recorder.device) and not recorder.device.others.seen:
        yield no_side_stream.diagnostic(
            span,
            "nothing ran on a side stream, so there was nothing to check",
            notes=("this is no proof that the code is right: it did not use streams in this run",),
            help="give inputs and settings that take the branch with streams",
        )


@rule("AUD102", "stream-not-restored", Severity.ERROR)
def stream_not_restored(recorder: Recorder) -> Iterator[Diagnostic]:
    """A function changed the current stream and did not put it back.

    What is issued behind the call, inside of the block of a stream or after forward(), runs on another stream than the
    code says. Nothing orders it with what the block has issued before.

    Example:

        def prefetch(self, x):
            torch.cuda.set_stream(self.copy)
            self.next = x.to("cuda", non_blocking=True)

    Use instead a block, which puts the stream back however it is left:

        def prefetch(self, x):
            with torch.cuda.stream(self.copy):
                self.next = x.to("cuda", non_blocking=True)
    """
    device = recorder.device
    for strayed in device.strayed:
        if strayed.source is not None:
            block, current = device.queues[strayed.block].name, device.queues[strayed.current].name
            yield stream_not_restored.diagnostic(
                strayed.source,
                f"this is issued on `{current}` inside the block of `{block}`",
                related=(Related(strayed.setter, f"`{current}` is made current here"),) if strayed.setter else (),
                help="enter the stream with a `with` block in the function that changes it",
            )
    for place in dict.fromkeys(device.left.values()):
        if place is not None and not device.per_call:  # for graphs `stream-left-set` tells it
            yield stream_not_restored.diagnostic(
                place,
                "forward() ends with another stream current than it began with",
                notes=("all that the caller issues from then on runs on that stream",),
                help="enter the stream with a `with` block, or set the first one again",
            )


@rule("AUD103", "made-each-call", Severity.WARNING)
def made_each_call(recorder: Recorder) -> Iterator[Diagnostic]:
    """A stream is made anew in each call of forward().

    Devices have a pool of 32 streams, and a new one is the next of the pool: after some calls it is a stream that
    something else uses, and what was to overlap waits in one queue. Memory that was freed on the stream of one call is
    not found by the next, so that the pool of memory grows. npugraph_ex makes the streams when it captures, and each
    replay uses the same.

    Example:

        def forward(self, x):
            side = torch.cuda.Stream()

    Use instead one stream for the life of the module:

        def __init__(self):
            self.side = torch.cuda.Stream()
    """
    made: dict[Span, list[int]] = {}
    for number, queue in enumerate(recorder.device.queues):
        if queue.made_in != NONE and queue.source is not None:
            made.setdefault(queue.source, []).append(number)
    for source, numbers in made.items():
        calls = {recorder.device.queues[number].made_in for number in numbers}
        if not recorder.device.per_call and len(calls) > 1 and len(calls) > recorder.device.log.call:
            yield made_each_call.diagnostic(
                source,
                f"the stream `{recorder.device.queues[numbers[0]].name}` is made in each call",
                notes=("a device has 32 streams; the next ones are those again",),
                help=f"make it once, in `__init__`: `self.side = torch.{recorder.device.kind}.Stream()`",
            )


@rule("AUD104", "not-seen", Severity.WARNING)
def not_seen(recorder: Recorder) -> Iterator[Diagnostic]:
    """A kernel is launched, or the address of a tensor is taken, and torch does not see what happens.

    A kernel that is launched by itself (Triton, an extension) reads or writes tensors on the current stream, and
    nothing is known of it: races with it cannot be found.

    Example:

        launch(x.data_ptr(), out.data_ptr(), n)

    Use instead a declaration of what it reads and writes:

        @streamsched.dsl.audit.kernel(reads=("x",), writes=("out",))
        def scale(x, out, n):
            launch(x.data_ptr(), out.data_ptr(), n)
    """
    for unseen in dict.fromkeys(recorder.launches.unseen):
        if unseen.source is not None:
            yield not_seen.diagnostic(
                unseen.source,
                unseen.message,
                notes=("what reads or writes it is not checked",),
                help="declare what it reads and writes with `@kernel(reads=..., writes=...)` or in the --fakes file",
            )


@rule("AUD107", "other-thread", Severity.WARNING)
def other_thread(recorder: Recorder) -> Iterator[Diagnostic]:
    """Another thread uses streams, and what it issues is not seen.

    What is checked is the thread that calls forward(), or that runs the script. Of other threads only their records and
    waits are noted, and neither the kernels between them nor what the host does there behind a wait.

    Example:

        def run():
            with torch.cuda.stream(self.side):
                self.result = self.shared(x)

        threading.Thread(target=run).start()

    Use instead, for an audit, the same work on the thread that is checked:

        run()
    """
    for place in recorder.device.others.seen:
        if place is not None:
            yield other_thread.diagnostic(
                place,
                "a stream or an event is used on another thread, and what is issued there is not seen",
                notes=("races with it cannot be found",),
                help="call what that thread does on the thread that is audited",
            )


@rule("AUD108", "graph-input-freed", Severity.ERROR)
def graph_input_freed(recorder: Recorder) -> Iterator[Diagnostic]:
    """A graph is replayed after memory that it uses has been freed.

    A graph has the addresses of what it was captured with, and keeps nothing of it alive but what it has allocated by
    itself. A replay reads, or overwrites, whatever lies at those addresses by then.

    Example:

        x = torch.empty(8, 8, device="cuda")
        with torch.cuda.graph(graph):
            y = x @ weight
        del x
        graph.replay()

    Use instead an input that lives as long as the graph, and is filled before each replay:

        self.x = torch.empty(8, 8, device="cuda")
        with torch.cuda.graph(graph):
            y = self.x @ weight
        self.x.copy_(x)
        graph.replay()
    """
    deaths = {entry.storage: entry.source for entry in recorder.device.log.entries if entry.kind.value == "free"}
    for number, place in dict.fromkeys(recorder.replayed_without):
        if place is not None:
            name, death = recorder.memory.blocks[number].name, deaths.get(number)
            yield graph_input_freed.diagnostic(
                place,
                f"a graph is replayed that uses `{name}`, which is freed by now",
                related=(Related(death, f"`{name}` is freed"),) if death is not None else (),
                notes=("its memory may be another tensor's by then",),
                help=f"keep `{name}` for as long as the graph is replayed, and fill it before each replay",
            )


RULES = (
    no_side_stream,
    stream_not_restored,
    made_each_call,
    not_seen,
    other_thread,
    graph_input_freed,
    *event_rules.RULES,
)


def findings(recorder: Recorder, program: Program) -> tuple[Diagnostic, ...]:
    """What the run itself tells; the span of `program` is where forward() begins."""
    found = [*no_side_stream(recorder, program.span)]
    for each in (stream_not_restored, made_each_call, not_seen, other_thread, graph_input_freed):
        found += each(recorder)
    for rule_of_events in event_rules.RULES:
        found += rule_of_events(recorder, program)
    return tuple(found)
