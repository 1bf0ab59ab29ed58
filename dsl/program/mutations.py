"""What a program writes that it does not own: inputs, buffers and parameters."""

from __future__ import annotations

from collections.abc import Iterator

from streamsched.dsl.program.steps import Program, StepKind
from streamsched.dsl.trace.model import StorageKind

STATE = {
    StorageKind.INPUT: "graph input",
    StorageKind.BUFFER: "buffer",
    StorageKind.PARAMETER: "parameter",
}
"""What a graph does not own. Dynamo lifts buffers and parameters to graph inputs, so that all are treated alike."""


def mutations(program: Program) -> Iterator[tuple[int, int]]:
    """The kernels that write a storage which the graph does not own, each with that storage."""
    state = {number for number, storage in enumerate(program.storages) if storage.kind in STATE}
    for index, step in enumerate(program.steps):
        if step.kind is StepKind.LAUNCH:
            for number in step.writes:
                if number in state:
                    yield index, number


def called_as_functions(program: Program) -> frozenset[int]:
    """The ops of the trace that code for a graph must not call as methods: the in-place ones, if any writes state.

    Dynamo looks for inputs that were written whenever a method of a tensor has written it, and refuses events that are
    recorded later on the stream; what a function wrote is ordered as any value of the graph. The modules of a scope
    run in one graph, so that the events of one are recorded after the writes of another.
    """
    trace = program.trace
    if trace is None or not (program.whole_graph or program.inside_graph):
        return frozenset()
    if not any(step.kind is StepKind.RECORD for step in program.steps) or not any(mutations(program)):
        return frozenset()
    return frozenset(index for index, op in enumerate(trace.ops) if is_in_place(op.target))


def is_in_place(target: str) -> bool:
    """Whether an op of ATen writes its first operand: `aten.add_.Tensor`."""
    return target.startswith("aten.") and target.split(".")[1].endswith("_")
