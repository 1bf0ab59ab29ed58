"""torch.export, watched and kept quiet."""

from __future__ import annotations

import contextlib
import importlib
import logging
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch.export import ExportedProgram

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.trace.tracing.dims import problems as dim_problems
from streamsched.dsl.trace.tracing.example_inputs import Inputs
from streamsched.dsl.trace.tracing.hooks import root_pre_hooks
from streamsched.dsl.trace.tracing.loader import Session
from streamsched.dsl.trace.tracing.provenance.recorder import Recorder
from streamsched.dsl.trace.tracing.provenance.recording import recording
from streamsched.dsl.trace.tracing.refusals import refusal


@dataclass(frozen=True, slots=True)
class Exported:
    """A program, and the warnings that came with it."""

    program: ExportedProgram
    warned: tuple[warnings.WarningMessage, ...]


def export(
    session: Session,
    model: torch.nn.Module,
    inputs: Inputs,
    recorder: Recorder,
) -> Exported | Diagnostic:
    """The program of `model`, with what happens meanwhile noted in `recorder`; or why it cannot be exported."""
    marked = recorder.dims.marked((inputs.args, inputs.kwargs))
    try:
        with (
            torch.no_grad(),
            _quiet() as warned,
            _configured(),
            recorder.leaves.replaced(model),
            marked,
            recording(recorder),
        ):
            program = torch.export.export(model, inputs.args, inputs.kwargs, strict=False)
    except (Exception, SystemExit) as error:
        denied = dim_problems.denied(session, recorder, error)
        return denied or dim_problems.with_sizes(session, refusal(session, recorder, error))
    return root_pre_hooks(session, model, recorder) or Exported(program, tuple(warned))


@contextlib.contextmanager
def _quiet() -> Iterator[list[warnings.WarningMessage]]:
    """Keep warnings and log lines about torch's own inside to ourselves: what fails is told by diagnostics."""
    exporting = importlib.import_module("torch.export._trace")
    logger = logging.getLogger("torch")
    level = logger.level
    children = [child for name, child in logging.root.manager.loggerDict.items() if name.startswith("torch.")]
    disabled = [child for child in children if isinstance(child, logging.Logger) and not child.disabled]
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for child in disabled:
            child.disabled = True
        logger.setLevel(logging.CRITICAL)
        # It prints the graph of what cannot be traced.
        exporting.__dict__["print"] = lambda *_, **__: None
        try:
            yield warned
        finally:
            del exporting.__dict__["print"]
            logger.setLevel(level)
            for child in disabled:
                child.disabled = False


@contextlib.contextmanager
def _configured() -> Iterator[None]:
    """Let constants without values pass, so that they can be told with their statements; and note no stack with each
    node of the graph, which takes long and which the recorder does by itself."""
    nodes = torch.fx.config
    before = nodes.do_not_emit_stack_traces
    nodes.do_not_emit_stack_traces = True
    try:
        with torch._export.config.patch(error_on_lifted_constant_tensors=False):
            yield
    finally:
        nodes.do_not_emit_stack_traces = before
