"""TGT, calls: what torch.compile with npugraph_ex refuses to compile."""

from __future__ import annotations

from collections.abc import Iterator

from streamsched.dsl.check.describe import placement, related, stream
from streamsched.dsl.check.facts import Facts
from streamsched.dsl.check.target_steps import is_npugraph_ex, spelled
from streamsched.dsl.diagnostic import Diagnostic, Severity
from streamsched.dsl.program import via
from streamsched.dsl.program.steps import StepKind
from streamsched.dsl.rule import rule
from streamsched.dsl.trace.model import NONE


@rule("TGT103", "wait-stream-call", Severity.ERROR)
def wait_stream_call(facts: Facts) -> Iterator[Diagnostic]:
    """npugraph_ex: `wait_stream` does not compile.

    npugraph_ex rewrites records and waits of events and has no rewrite for this call: compiling ends in
    "TypeError: unhashable type: 'dict'", which names neither the call nor its line. Eagerly it works.

    Example:

        side.wait_stream(torch.npu.current_stream())
        with torch.npu.stream(side):
            y = torch.mm(x, w)

    Use instead an event:

        ready.record()
        with torch.npu.stream(side):
            ready.wait()
            y = torch.mm(x, w)

    References: seen on torch_npu 2.13.0.
    """
    program = facts.program
    for index in spelled(facts, via.WAIT_STREAM, StepKind.WAIT) if is_npugraph_ex(facts) else ():
        yield wait_stream_call.diagnostic(
            placement(program, index),
            f"{stream(program, program.steps[index].stream)} waits by `wait_stream`, "
            "which npugraph_ex does not compile",
            related=related(program, (index, "the call")),
            notes=("torch.compile fails with `TypeError: unhashable type: 'dict'`",),
            help="record an event on the other stream, and let this one wait for it: `ready.record()` there, "
            "`ready.wait()` in the block of this one",
        )


@rule("TGT104", "host-waits-in-graph", Severity.ERROR)
def host_waits_in_graph(facts: Facts) -> Iterator[Diagnostic]:
    """npugraph_ex: `synchronize()` of a stream or an event does not compile.

    A graph has no host in it that could wait, and compiling ends in "TypeError: unhashable type: 'dict'", which names
    neither the call nor its line. Eagerly it works, and costs the overlap that streams are for.

    Example:

        with torch.npu.stream(side):
            y = torch.mm(x, w)
        side.synchronize()
        return y + 1

    Use instead an event, for which the other stream waits and not the host:

        with torch.npu.stream(side):
            y = torch.mm(x, w)
            y_done.record()
        y_done.wait()
        return y + 1

    References: seen on torch_npu 2.13.0.
    """
    program = facts.program
    for word in (via.STREAM_SYNCHRONIZE, via.EVENT_SYNCHRONIZE) if is_npugraph_ex(facts) else ():
        for index in spelled(facts, word, StepKind.HOST_SYNC):
            number = program.steps[index].stream
            awaited = "all streams" if number == NONE else stream(program, number)
            yield host_waits_in_graph.diagnostic(
                placement(program, index),
                f"the host waits for {awaited} by `{word}`, which npugraph_ex does not compile",
                related=related(program, (index, "the call")),
                notes=("torch.compile fails with `TypeError: unhashable type: 'dict'`",),
                help="let the stream that needs the result wait for an event: `done.record()`, then `done.wait()`",
            )


@rule("TGT105", "record-makes-event", Severity.ERROR)
def record_makes_event(facts: Facts) -> Iterator[Diagnostic]:
    """npugraph_ex: `record_event()` without an event, which makes one, does not compile.

    npugraph_ex knows an event by the place where it is made, and finds none here: compiling ends in a bare `KeyError`.
    Eagerly it works.

    Example:

        ready = torch.npu.current_stream().record_event()

    Use instead an event that is made and recorded by itself:

        ready = torch.npu.Event()
        ready.record()

    References: seen on torch_npu 2.13.0.
    """
    program = facts.program
    for index in spelled(facts, via.NEW_EVENT, StepKind.RECORD) if is_npugraph_ex(facts) else ():
        step = program.steps[index]
        yield record_makes_event.diagnostic(
            placement(program, index),
            f"`{program.events[step.event]}` is made by `record_event()` on {stream(program, step.stream)}, "
            "which npugraph_ex does not compile",
            related=related(program, (index, "the call")),
            notes=("torch.compile fails with a `KeyError`",),
            help="make the event with `torch.npu.Event()`, then call its `record()`",
        )


@rule("TGT106", "generic-stream-or-event", Severity.ERROR)
def generic_stream_or_event(facts: Facts) -> Iterator[Diagnostic]:
    """npugraph_ex: a `torch.Event` or a `torch.Stream` where it needs those of `torch.npu`.

    npugraph_ex looks for the device's own classes and overlooks the generic ones: an event ends in a `KeyError`, a
    stream in "Can not find stream ..." or in a capture that fails with 107025. Eagerly both work.

    Example:

        side, ready = torch.Stream("npu"), torch.Event("npu")

    Use instead:

        side, ready = torch.npu.Stream(), torch.npu.Event()

    References: seen on torch_npu 2.13.0.
    """
    program = facts.program
    if not is_npugraph_ex(facts):
        return
    for index in spelled(facts, via.GENERIC_EVENT, StepKind.RECORD):
        yield generic_stream_or_event.diagnostic(
            placement(program, index),
            f"`{program.events[program.steps[index].event]}` is a `torch.Event`, which npugraph_ex does not know",
            related=related(program, (index, "recorded here")),
            notes=("torch.compile fails with a `KeyError`",),
            help="make it with `torch.npu.Event()`",
        )
    for index in spelled(facts, via.GENERIC_STREAM, StepKind.LAUNCH, StepKind.ALLOC):
        yield generic_stream_or_event.diagnostic(
            placement(program, index),
            f"{stream(program, program.steps[index].stream)} is a `torch.Stream`, which npugraph_ex does not know",
            related=related(program, (index, "the first on it")),
            notes=("compiling fails, or the capture does with 107025",),
            help="make it with `torch.npu.Stream()`",
        )


_UNTRACEABLE = {
    via.SET_STREAM_LIMIT: ("set_stream_limit", "use `torch.npu.npugraph_ex.scope.limit_core_num(aic, aiv, stream=s)`"),
    via.DEFAULT_STREAM: ("default_stream()", "call `torch.npu.current_stream()`, or ask for the stream in `__init__`"),
    via.NO_STREAM: ("stream(None)", "leave the block out where there is no stream"),
    via.EXTERNAL_EVENT: ("ExternalEvent()", "use `torch.npu.Event()`"),
}
"""By word: the call of `torch.npu` as written, and what to type instead."""


@rule("TGT107", "untraceable-stream-call", Severity.ERROR)
def untraceable_stream_call(facts: Facts) -> Iterator[Diagnostic]:
    """npugraph_ex: a stream or event call of `torch.npu` in forward() that torch.compile cannot trace.

    `set_stream_limit`, `default_stream()`, `stream(None)` and `ExternalEvent()` end in an error of Dynamo under
    `fullgraph=True`; without it they break the graph, and with it every event across the break. Eagerly they work.

    Example:

        torch.npu.set_stream_limit(side, 8, 16)
        with torch.npu.stream(side):
            y = torch.mm(x, w)

    Use instead what the backend knows:

        with torch.npu.stream(side), torch.npu.npugraph_ex.scope.limit_core_num(8, 16):
            y = torch.mm(x, w)

    References: seen on torch_npu 2.13.0 with torch 2.13.0.
    """
    program = facts.program
    kinds = StepKind.LAUNCH, StepKind.ALLOC, StepKind.RECORD, StepKind.WAIT
    for word, (call, instead) in _UNTRACEABLE.items() if is_npugraph_ex(facts) else ():
        for index in list(spelled(facts, word, *kinds))[:1]:
            yield untraceable_stream_call.diagnostic(
                placement(program, index),
                f"`torch.npu.{call}` in forward(), which torch.compile cannot trace",
                related=related(program, (index, "first used here")),
                notes=("compiling fails with `fullgraph=True`, and breaks the graph without it",),
                help=instead,
            )


RULES = (wait_stream_call, host_waits_in_graph, record_makes_event, generic_stream_or_event, untraceable_stream_call)
