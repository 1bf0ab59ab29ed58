"""The steps of a trace: load the model, export it under observation, assemble."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch.export import ExportedProgram

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.trace import rules
from streamsched.dsl.trace.model import NONE, Trace
from streamsched.dsl.trace.request import Traced, TraceRequest
from streamsched.dsl.trace.sources import Sources, name_all
from streamsched.dsl.trace.store import digest
from streamsched.dsl.trace.tracing import problems
from streamsched.dsl.trace.tracing.arguments import class_name
from streamsched.dsl.trace.tracing.assembly.assemble import Assembled, assemble
from streamsched.dsl.trace.tracing.assembly.signature import parameters
from streamsched.dsl.trace.tracing.assembly.statements import statements
from streamsched.dsl.trace.tracing.dims import problems as dim_problems
from streamsched.dsl.trace.tracing.dims.symbols import Dims
from streamsched.dsl.trace.tracing.example_inputs import Inputs, by_position, load_inputs
from streamsched.dsl.trace.tracing.frames import Internals
from streamsched.dsl.trace.tracing.isolation import imports_npu, own_files, user_code
from streamsched.dsl.trace.tracing.leaves.modules import load_leaves
from streamsched.dsl.trace.tracing.leaves.ops import Leaves
from streamsched.dsl.trace.tracing.loader import Session, load_model
from streamsched.dsl.trace.tracing.provenance.recorder import Recorder
from streamsched.dsl.trace.tracing.refusals import refusal
from streamsched.dsl.trace.tracing.scope.tracer import trace_scope
from streamsched.dsl.trace.tracing.traps import autocast
from streamsched.dsl.trace.tracing.traps.autocast import Regions
from streamsched.dsl.trace.tracing.traps.mixed_dtypes import mixed_dtypes
from streamsched.dsl.trace.tracing.world import ranks


def trace(request: TraceRequest, verbose: bool, report: Callable[[str], None]) -> Traced:
    """The trace of the request's model, or why there is none."""
    sources = Sources(request.base)
    session = Session(request, sources, Internals(str(Path(torch.__file__).parent)), verbose)
    user = user_code(request.base, sources, imports_npu(Path(request.base, request.file)), bool(request.fakes))
    with user, ranks(request.world), autocast.watched(session.internals, sources) as regions:
        report("building the model")
        model = load_model(session)
        if isinstance(model, Diagnostic):
            return Traced(None, (model,))
        register_caches(model)
        leaves = load_leaves(session, model)
        if isinstance(leaves, Diagnostic):
            return Traced(None, (leaves,))
        misnamed = dim_problems.misnamed(session, model)
        if misnamed is not None:
            return Traced(None, (misnamed,))
        inputs = load_inputs(session, model)
        if isinstance(inputs, Diagnostic):
            return Traced(None, (inputs,))
        if request.scope is None:
            report("tracing the model")
            return _trace_root(session, regions, leaves, model, inputs, Dims.of(request.inputs))
        trace_root = functools.partial(_trace_root, session, regions, leaves)
        try_root = functools.partial(_try_root, session, leaves)
        return trace_scope(session, request.scope, model, leaves, inputs, trace_root, try_root, report)


def _try_root(session: Session, leaves: Leaves, model: torch.nn.Module, inputs: Inputs) -> Diagnostic | None:
    """Trace a module for what can be seen meanwhile; or why that cannot be."""
    recorder = Recorder(model, session.sources, session.internals, leaves, compiling=session.request.compiled)
    exported = _export(session, model, by_position(model, inputs), recorder)
    return exported if isinstance(exported, Diagnostic) else None


def _trace_root(
    session: Session, regions: Regions, leaves: Leaves, model: torch.nn.Module, inputs: Inputs, dims: Dims
) -> Traced:
    """The trace of one module, by itself."""
    hooked = problems.root_hooks(session, model)
    if hooked is not None:
        return Traced(None, (hooked,))
    inputs = by_position(model, inputs)
    recorder = Recorder(model, session.sources, session.internals, leaves, dims, session.request.compiled)
    exported = _export(session, model, inputs, recorder)
    if isinstance(exported, Diagnostic):
        return Traced(None, (exported,))
    compared = problems.compiling_matters(session, model, inputs, recorder)
    parts = assemble(model, inputs.args, inputs.kwargs, exported.program, recorder)
    found = dim_problems.constrained(session, recorder)
    found = found or problems.problems(session, exported.program, parts, recorder)
    if found:
        return Traced(None, found)
    name_all(session.sources, own_files(session.sources))
    mixed = mixed_dtypes(session, recorder, regions, parts.ops, parts.values.all())
    lost = (*problems.losses(session, model, exported.warned, recorder, regions, parts.state), *mixed, *compared)
    return Traced(_finish(session, model, parts, recorder, lost), lost)


def register_caches(model: torch.nn.Module) -> None:
    """Let torch.export look into the caches of transformers' models; it has no way to take that back."""
    if "transformers" in sys.modules:
        with contextlib.suppress(ImportError, AttributeError):
            importlib.import_module("transformers.exporters.exporter_dynamo").register_cache_pytrees_for_model(model)


@dataclass(frozen=True, slots=True)
class _Exported:
    """A program, and the warnings that came with it."""

    program: ExportedProgram
    warned: tuple[warnings.WarningMessage, ...]


def _export(
    session: Session,
    model: torch.nn.Module,
    inputs: Inputs,
    recorder: Recorder,
) -> _Exported | Diagnostic:
    marked = recorder.dims.marked((inputs.args, inputs.kwargs))
    watched = recorder.recording()
    try:
        with torch.no_grad(), _quiet() as warned, _lenient(), recorder.leaves.replaced(model), marked, watched:
            program = torch.export.export(model, inputs.args, inputs.kwargs, strict=False)
    except (Exception, SystemExit) as error:
        return dim_problems.denied(session, recorder, error) or refusal(session, recorder, error)
    return problems.root_pre_hooks(session, model, recorder) or _Exported(program, tuple(warned))


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
def _lenient() -> Iterator[None]:
    """Let constants without values pass, so that they can be told with their statements."""
    config = torch._export.config
    before = config.error_on_lifted_constant_tensors
    config.error_on_lifted_constant_tensors = False
    try:
        yield
    finally:
        config.error_on_lifted_constant_tensors = before


def _finish(
    session: Session, model: torch.nn.Module, parts: Assembled, recorder: Recorder, lost: tuple[Diagnostic, ...]
) -> Trace:
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
        dims=dim_problems.named_dims(recorder, parts),
        warnings=tuple(diagnostic.message for diagnostic in lost),
        told=tuple((found.code, found.message) for found in lost if found.code == rules.attribute_not_kept.code),
        objects=parts.objects,
        constants=parts.constants,
        assignments=parts.state.assignments,
    )
    return dataclasses.replace(made, digest=digest(made))
