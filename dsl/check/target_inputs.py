"""TGT, graph inputs: what npugraph_ex makes of a forward that writes what the graph does not own."""

from __future__ import annotations

from collections.abc import Iterator

from streamsched.dsl.check.describe import name, on_stream, placement, related, stream
from streamsched.dsl.check.facts import Facts
from streamsched.dsl.check.target_steps import is_npugraph_ex
from streamsched.dsl.diagnostic import Diagnostic, Severity
from streamsched.dsl.program.steps import DEFAULT, StepKind
from streamsched.dsl.rule import rule
from streamsched.dsl.trace.model import StorageKind

_STATE = {
    StorageKind.INPUT: "graph input",
    StorageKind.BUFFER: "buffer",
    StorageKind.PARAMETER: "parameter",
}
"""What a graph does not own. Dynamo lifts buffers and parameters to graph inputs, so that all are treated alike."""


@rule("TGT101", "input-mutated-on-side-stream", Severity.ERROR)
def input_mutated_on_side_stream(facts: Facts) -> Iterator[Diagnostic]:
    """npugraph_ex: a graph input, a buffer or a parameter is written on a side stream.

    The graph works on a functional copy and writes the result back with a `copy_` at its end. npugraph_ex issues that
    `copy_` on the default stream before it joins the side streams: it compiles without a word, is right in eager mode,
    and writes back what the side stream has not made yet. A KV cache that is updated on a side stream is the usual
    case. `gen` makes no code for it.

    Example:

        group update = value "k_cache"        # self.k_cache[:, pos] = k
        update on side

    Use instead the default stream for the update, and a side stream for what makes its data:

        group key = value "k"
        key on side
        key -> update

    References: seen on torch_npu 2.13.0.
    """
    program = facts.program
    if not is_npugraph_ex(facts):
        return
    for index, number in _mutations(facts):
        if program.steps[index].stream != DEFAULT:
            storage = program.storages[number]
            yield input_mutated_on_side_stream.diagnostic(
                placement(program, index),
                f"{on_stream(program, index)} writes the {_STATE[storage.kind]} `{storage.name}`, "
                "which npugraph_ex writes back before it joins the stream",
                related=related(program, (index, f"`{storage.name}` is written here")),
                notes=("it compiles without a word and gives wrong numbers",),
                help=f"place {name(program, index)} on `default`",
            )


@rule("TGT102", "event-recorded-after-input-mutation", Severity.ERROR)
def event_recorded_after_input_mutation(facts: Facts) -> Iterator[Diagnostic]:
    """npugraph_ex: an event is recorded on the default stream after a graph input was written there.

    Dynamo refuses it: "An event was recorded on a stream where a graph input was previously mutated". There is one
    finding for the program, at the first such record. For a write on a side stream, which must be joined by an event,
    `input-mutated-on-side-stream` stands alone. Buffers and parameters count as inputs. `gen` makes no code for it.

    Example:

        self.calls += 1
        x_ready.record()              # any event recorded on this stream from here on

    Use instead the write behind the last record of its stream:

        x_ready.record()
        ...
        self.calls += 1

    References: seen on torch_npu 2.13.0 with torch 2.13.0.
    """
    program = facts.program
    if not is_npugraph_ex(facts):
        return
    mutations = [(index, number) for index, number in _mutations(facts) if program.steps[index].stream == DEFAULT]
    if not mutations:
        return
    first, number = mutations[0]
    records = [index for index in facts.of(StepKind.RECORD) if index > first and program.steps[index].stream == DEFAULT]
    if records:
        storage = program.storages[number]
        event = program.events[program.steps[records[0]].event]
        more = f"; {len(records) - 1} more follow" if len(records) > 1 else ""
        yield event_recorded_after_input_mutation.diagnostic(
            placement(program, first),
            f"`{event}` is recorded on {stream(program, DEFAULT)} after {name(program, first)} has written the "
            f"{_STATE[storage.kind]} `{storage.name}` there",
            related=related(program, (first, f"`{storage.name}` is written here"), (records[0], "the record")),
            notes=(f"torch.compile refuses an event on a stream where an input was written before{more}",),
            help=f"let {name(program, first)} be issued after the last event of {stream(program, DEFAULT)}: declare "
            "`... before ...`, or put what waits for it on `default`",
        )


def _mutations(facts: Facts) -> Iterator[tuple[int, int]]:
    """The kernels that write a storage which the graph does not own, each with that storage."""
    program = facts.program
    state = {number for number, storage in enumerate(program.storages) if storage.kind in _STATE}
    for index in facts.of(StepKind.LAUNCH):
        for number in program.steps[index].writes:
            if number in state:
                yield index, number


RULES = (input_mutated_on_side_stream, event_recorded_after_input_mutation)
