"""TGT, graph outputs: what npugraph_ex makes of a forward that returns memory which the graph does not own."""

from __future__ import annotations

from collections.abc import Iterator

from streamsched.dsl.check.describe import listed
from streamsched.dsl.check.facts import Facts
from streamsched.dsl.check.target_steps import is_npugraph_ex
from streamsched.dsl.diagnostic import Diagnostic, Severity
from streamsched.dsl.program import via
from streamsched.dsl.program.steps import StepKind
from streamsched.dsl.rule import rule
from streamsched.dsl.trace.model import StorageKind, Trace


@rule("TGT121", "input-view-returned", Severity.WARNING)
def input_view_returned(facts: Facts) -> Iterator[Diagnostic]:
    """npugraph_ex: a view of a graph input is returned, so that later calls overwrite the first call's input.

    Before each replay the inputs are copied into buffers of the graph. An input of which a view is returned gets no
    buffer: the graph is captured on the tensor that the first call was given, and each later call copies its own input
    there. What the first caller passed, and the view that came back, change under the caller's hands, with
    `clone_output=True`, too. The original forward() does the same under npugraph_ex; eagerly both are right. An input
    that is returned as it is, or that forward() writes, is safe, and so is a view of a result. Where an op returns a
    view or a copy, as strides have it, this is reported as well; so is eval-mode dropout, which the graph copies.

    Example:

        def forward(self, x):
            return self.proj(x), x.flatten(1)

    Use instead a copy:

        def forward(self, x):
            return self.proj(x), x.flatten(1).clone()

    References: seen on torch_npu 2.13.0 with torch 2.13.0.
    """
    program = facts.program
    if not program.whole_graph or not is_npugraph_ex(facts):
        return
    if program.trace is None:
        yield from _recorded(facts)
        return
    trace = program.trace
    for number, outputs in _input_views(trace).items():
        given = trace.storages[number].name
        values = [trace.values[output] for output in outputs]
        names = listed([f"`{value.local if value.local not in ('', given) else value.name}`" for value in values])
        are = "in the memory of" if any(len(value.storages) == 1 for value in values) else "perhaps in the memory of"
        yield input_view_returned.diagnostic(
            program.span,
            f"forward() returns {names}, {are} the graph input `{given}`",
            notes=(f"each later call writes its own `{given}` into the one that the first call was given",),
            help="return a copy: `.clone()`",
        )


def _recorded(facts: Facts) -> Iterator[Diagnostic]:
    """Those of a recorded forward, whose exits name the inputs."""
    for index in facts.of(StepKind.EXIT):
        for given in via.viewed(facts.program.steps[index]):
            yield input_view_returned.diagnostic(
                facts.program.span,
                f"forward() returns a view of the graph input `{given}`",
                notes=(f"each later call writes its own `{given}` into the one that the first call was given",),
                help="return a copy: `.clone()`",
            )


def _input_views(trace: Trace) -> dict[int, list[int]]:
    """By an input's storage the values returned that lie there and are not the input itself.

    Where an op writes the input, what is returned is made anew from the caller's own tensor.
    """
    written = {number for op in trace.ops for number in op.writes}
    found: dict[int, list[int]] = {}
    for output in trace.outputs():
        if output not in trace.inputs:
            for number in trace.values[output].storages:
                if trace.storages[number].kind is StorageKind.INPUT and number not in written:
                    found.setdefault(number, []).append(output)
    return found


RULES = (input_view_returned,)
