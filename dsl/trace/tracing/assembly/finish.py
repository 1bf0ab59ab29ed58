"""The parts of a trace put together."""

from __future__ import annotations

import dataclasses
import sys

import torch

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.trace import loss_rules
from streamsched.dsl.trace.model import NONE, Trace
from streamsched.dsl.trace.store import digest
from streamsched.dsl.trace.tracing.arguments import class_name
from streamsched.dsl.trace.tracing.assembly.assemble import Assembled
from streamsched.dsl.trace.tracing.assembly.signature import parameters
from streamsched.dsl.trace.tracing.assembly.statements import statements
from streamsched.dsl.trace.tracing.dims.problems import named_dims
from streamsched.dsl.trace.tracing.loader import Session
from streamsched.dsl.trace.tracing.provenance.recorder import Recorder


def finished(
    session: Session, model: torch.nn.Module, parts: Assembled, recorder: Recorder, lost: tuple[Diagnostic, ...]
) -> Trace:
    """The trace of `model`; `lost` is what it does not hold."""
    file = session.sources.key(recorder.code.co_filename) if recorder.code else ""
    issuing, places = statements(recorder, file, parts.ops)
    made = Trace(
        determined_by=session.request.determined_by,
        torch_version=torch.__version__.partition("+")[0],  # without its build
        python_version=f"{sys.version_info.major}.{sys.version_info.minor}",
        root=class_name(type(model)),
        parameters=parameters(model),
        inputs=parts.inputs,
        result=parts.result,
        ops=tuple(dataclasses.replace(op, statement=places.get(op.statement, NONE)) for op in parts.ops),
        values=parts.values.all(),
        storages=parts.values.memory.all(),
        calls=parts.calls,
        statements=issuing,
        positions=recorder.positions.all_positions(),
        stacks=recorder.positions.all_stacks(),
        sources=session.sources.described(),
        dims=named_dims(recorder, parts),
        warnings=tuple(diagnostic.message for diagnostic in lost),
        told=tuple((found.code, found.message) for found in lost if found.code == loss_rules.attribute_not_kept.code),
        objects=parts.objects,
        constants=parts.constants,
        assignments=parts.state.assignments,
    )
    return dataclasses.replace(made, digest=digest(made))
