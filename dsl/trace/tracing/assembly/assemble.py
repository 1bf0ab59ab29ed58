"""From an exported program and what was noted during the export to the parts of a trace."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from streamsched.dsl.trace.model import Argument, ModuleCall, Op
from streamsched.dsl.trace.tracing.assembly.calls import ModuleCalls
from streamsched.dsl.trace.tracing.assembly.ops import Ops
from streamsched.dsl.trace.tracing.assembly.reached import ways
from streamsched.dsl.trace.tracing.assembly.values import BadConstant, Values
from streamsched.dsl.trace.tracing.collectives import Communication
from streamsched.dsl.trace.tracing.flags import input_objects
from streamsched.dsl.trace.tracing.own_constants import with_constants
from streamsched.dsl.trace.tracing.provenance.recorder import Recorder
from streamsched.dsl.trace.tracing.state.kept import State


@dataclass(frozen=True, slots=True)
class Assembled:
    """The parts of a trace that come from the graph, and the nodes that kept it from being one."""

    values: Values
    inputs: tuple[int, ...]
    ops: tuple[Op, ...]
    calls: tuple[ModuleCall, ...]
    result: Argument
    unsupported: tuple[Node, ...]
    transformed: tuple[Node, ...]
    bad_constants: tuple[BadConstant, ...]
    objects: tuple[tuple[str, str], ...]
    constants: tuple[tuple[str, str], ...]
    communication: Communication
    unspelled: tuple[Node, ...]  # numbers made of named dims that have no printed form
    state: State
    moments: tuple[int, ...]  # by op: when it was issued, by the recorder's clock


def assemble(
    root: torch.nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    program: ExportedProgram,
    recorder: Recorder,
) -> Assembled:
    """Ops, values and module calls of an exported program."""
    ops = Ops(root, program, recorder)
    inputs = ops.values.add_inputs(args, kwargs)
    tags = ops.add_all()
    made = ModuleCalls(root, recorder, ops.values, ops.operands, tags, ops.moments)
    modules = [record.module for record in recorder.calls.records]
    calls = with_constants(made.all(), modules, ops.ops, ops.values.all())
    given = inspect.signature(root.forward).bind(*args, **kwargs).arguments
    state, changed = made.state(ops.ops), made.changed()
    at = [ops.values[index].expression for index in inputs]
    return Assembled(
        values=ops.values,
        inputs=inputs,
        ops=tuple(ops.ops),
        calls=calls,
        result=calls[0].result,
        unsupported=tuple(ops.flat.unsupported),
        transformed=tuple(ops.flat.transformed),
        bad_constants=tuple(ops.values.bad),
        objects=input_objects(given, ways(given, at, [each.target for each in state.assignments])),
        constants=tuple(recorder.calls.constants),
        communication=ops.communication,
        unspelled=tuple(ops.operands.unspelled),
        state=State(state.assignments + changed.assignments, state.refused + changed.refused),
        moments=tuple(ops.moments),
    )
