"""TGT, graph inputs: what npugraph_ex makes of a forward that writes what the graph does not own."""

from __future__ import annotations

from collections.abc import Iterator

from streamsched.dsl.check.describe import is_hand_written, name, on_stream, placement, related, stream
from streamsched.dsl.check.facts import Facts
from streamsched.dsl.check.target_steps import is_npugraph_ex
from streamsched.dsl.diagnostic import Diagnostic, Severity
from streamsched.dsl.program import via
from streamsched.dsl.program.mutations import STATE, mutations
from streamsched.dsl.program.steps import DEFAULT, Program, StepKind
from streamsched.dsl.rule import rule
from streamsched.dsl.trace.model import LEAF, NONE


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
    for index, number in mutations(program):
        if program.steps[index].stream != DEFAULT:
            storage = program.storages[number]
            yield input_mutated_on_side_stream.diagnostic(
                placement(program, index),
                f"{on_stream(program, index)} writes the {STATE[storage.kind]} `{storage.name}`, "
                "which npugraph_ex writes back before it joins the stream",
                related=related(program, (index, f"`{storage.name}` is written here")),
                notes=("it compiles without a word and gives wrong numbers",),
                help=f"launch {name(program, index)} on `default`: behind the block of "
                f"{stream(program, program.steps[index].stream)}, and behind a wait for it"
                if is_hand_written(program)
                else f"place {name(program, index)} on `default`",
            )


@rule("TGT102", "event-recorded-after-input-mutation", Severity.ERROR)
def event_recorded_after_input_mutation(facts: Facts) -> Iterator[Diagnostic]:
    """npugraph_ex: an event is recorded on the default stream after a method of a tensor wrote a graph input there.

    Dynamo refuses it: "An event was recorded on a stream where a graph input was previously mutated". It looks for
    writes after each method call that writes (`x.add_(y)`, `x[i] = y`), and not after functions
    (`torch.ops.aten.index_copy_(x, ...)`, `torch_npu.npu_scatter_nd_update_(x, ...)`, custom ops), which are right
    under npugraph_ex. The generated forward calls functions for what its own module does; a write inside another
    module is that module's code. The modules of a scope run in one graph, where the events of the next module are
    recorded after the writes of this one. There is one finding for the program, at the first such record. For a write
    on a side stream, which must be joined by an event, `input-mutated-on-side-stream` stands alone. Buffers and
    parameters count as inputs. `gen` makes no code for it.

    Example:

        self.calls.add_(1)
        x_ready.record()              # any event recorded on this stream from here on

    Use instead a function, or the write behind the last record of its stream:

        torch.ops.aten.add_(self.calls, 1)
        x_ready.record()

    References: seen on torch_npu 2.13.0 with torch 2.13.0.
    """
    program = facts.program
    if not is_npugraph_ex(facts):
        return
    records = [index for index in facts.of(StepKind.RECORD) if program.steps[index].stream == DEFAULT]
    where = ""
    for first, number in _written_by_methods(program):
        end = next((index for index in facts.of(StepKind.EXIT) if index > first), len(program.steps))
        later = [index for index in records if first < index < end]
        if not later and _modules(program) > 1:
            later, where = records, "of the next module in scope "
        if not later:
            continue
        storage = program.storages[number]
        event = program.events[program.steps[later[0]].event]
        more = f"; {len(later) - 1} more follow" if len(later) > 1 else ""
        yield event_recorded_after_input_mutation.diagnostic(
            placement(program, first),
            f"`{event}` {where}is recorded on {stream(program, DEFAULT)} after {name(program, first)} has written the "
            f"{STATE[storage.kind]} `{storage.name}` there",
            related=related(program, (first, f"`{storage.name}` is written here"), (later[0], "the record")),
            notes=(f"torch.compile refuses an event on a stream where an input was written before{more}",),
            help=f"write `{storage.name}` by a function: `torch.ops.aten.index_copy_(...)`, "
            "`torch_npu.npu_scatter_nd_update_(...)`, a custom op"
            if where
            else _instead(program, first),
        )
        return


def _instead(program: Program, first: int) -> str:
    """What to do with the step that writes an input too early."""
    if is_hand_written(program):
        return (
            f"move this line behind the last `record()` on {stream(program, DEFAULT)}, or write by a function: "
            "`torch.ops.aten.add_(x, y)` for `x.add_(y)`"
        )
    return (
        f"let {name(program, first)} be issued after the last event of {stream(program, DEFAULT)}: declare "
        "`... before ...`, or put what waits for it on `default`; or have it called as a function"
    )


def _written_by_methods(program: Program) -> list[tuple[int, int]]:
    """The kernels on `default` that methods of a tensor may have launched, and that write state, with that."""
    return [
        (index, number)
        for index, number in mutations(program)
        if program.steps[index].stream == DEFAULT and _is_a_method(program, index)
    ]


def _is_a_method(program: Program, index: int) -> bool:
    """Whether a step's op may be called as a method of the tensor that it writes.

    Not in what is printed: the ops of the forward's own module, and those that torch does not publish.
    """
    op = program.steps[index].op
    if program.trace is None or op == NONE:
        return via.AS_FUNCTION not in via.words(program.steps[index])
    made = program.trace.ops[op]
    return made.target == LEAF or (made.call != 0 and made.target.startswith("aten."))


def _modules(program: Program) -> int:
    """How many modules run the program."""
    scope = program.trace.scope if program.trace is not None else None
    return len(scope.instances) if scope is not None else 1


RULES = (input_mutated_on_side_stream, event_recorded_after_input_mutation)
