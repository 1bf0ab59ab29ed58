"""The steps of a trace: load the model, export it under observation, assemble."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import torch

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.trace.request import Traced, TraceRequest
from streamsched.dsl.trace.sources import Sources, name_all
from streamsched.dsl.trace.tracing.assembly.assemble import assemble
from streamsched.dsl.trace.tracing.assembly.finish import finished
from streamsched.dsl.trace.tracing.dims import problems as dim_problems
from streamsched.dsl.trace.tracing.dims.symbols import Dims
from streamsched.dsl.trace.tracing.example_inputs import Inputs, by_position, load_inputs
from streamsched.dsl.trace.tracing.exporting import export
from streamsched.dsl.trace.tracing.frames import Internals
from streamsched.dsl.trace.tracing.hooks import root_hooks
from streamsched.dsl.trace.tracing.isolation import imports_npu, own_files, user_code
from streamsched.dsl.trace.tracing.leaves.modules import load_leaves
from streamsched.dsl.trace.tracing.leaves.ops import Leaves
from streamsched.dsl.trace.tracing.loader import Session, load_model
from streamsched.dsl.trace.tracing.problems import problems
from streamsched.dsl.trace.tracing.provenance.recorder import Recorder
from streamsched.dsl.trace.tracing.scope.tracer import trace_scope
from streamsched.dsl.trace.tracing.streams import standing_in
from streamsched.dsl.trace.tracing.traps import autocast, chance, rank
from streamsched.dsl.trace.tracing.traps.comparison import compiling_matters
from streamsched.dsl.trace.tracing.traps.drawn import chances
from streamsched.dsl.trace.tracing.traps.losses import losses
from streamsched.dsl.trace.tracing.traps.mixed_dtypes import mixed_dtypes
from streamsched.dsl.trace.tracing.world import ranks


def trace(request: TraceRequest, verbose: bool, report: Callable[[str], None]) -> Traced:
    """The trace of the request's model, or why there is none."""
    sources = Sources(request.base)
    session = Session(request, sources, Internals(str(Path(torch.__file__).parent)), verbose)
    user = user_code(request.base, sources, imports_npu(Path(request.base, request.file)), bool(request.fakes))
    watched = autocast.watched(session.regions, session.internals, sources)
    with user, watched, rank.watched(session), standing_in(session.streams):
        with ranks(request.world):
            report("building the model")
            model = load_model(session)
            if isinstance(model, Diagnostic):
                return Traced(None, (model,))
            by_rank = bool(session.rank_asked.places)
            register_caches(model)
            leaves = load_leaves(session, model)
            if isinstance(leaves, Diagnostic):
                return Traced(None, (leaves,))
            traced = _trace_model(session, model, leaves, report)
        return _with_held_ranks(session, model, leaves, traced) if by_rank else traced


def _with_held_ranks(session: Session, model: torch.nn.Module, leaves: Leaves, traced: Traced) -> Traced:
    """A trace with what is to be said of a model that asks for its rank while it is built."""
    trace = traced.trace
    if trace is None:
        return traced
    scope = trace.scope.instances if trace.scope is not None else ("",)
    found = tuple(rank.held(session, model, scope, leaves))
    warnings = (*trace.warnings, *(diagnostic.message for diagnostic in found))
    made = dataclasses.replace(trace, warnings=warnings)
    return dataclasses.replace(traced, trace=made, diagnostics=(*traced.diagnostics, *found))


def _trace_model(session: Session, model: torch.nn.Module, leaves: Leaves, report: Callable[[str], None]) -> Traced:
    """The trace of a model, or of the modules in scope."""
    request = session.request
    misnamed = dim_problems.misnamed(session, model)
    if misnamed is not None:
        return Traced(None, (misnamed,))
    inputs = load_inputs(session, model)
    if isinstance(inputs, Diagnostic):
        return Traced(None, (inputs,))
    if request.scope is None:
        report("tracing the model")
        return _trace_root(session, leaves, model, inputs, Dims.of(request.inputs))
    trace_root = functools.partial(_trace_root, session, leaves)
    try_root = functools.partial(_try_root, session, leaves)
    return trace_scope(session, request.scope, model, leaves, inputs, trace_root, try_root, report)


def _try_root(session: Session, leaves: Leaves, model: torch.nn.Module, inputs: Inputs) -> Diagnostic | None:
    """Trace a module for what can be seen meanwhile; or why that cannot be."""
    recorder = Recorder(model, session.sources, session.internals, leaves, compiling=session.request.compiled)
    exported = export(session, model, by_position(model, inputs), recorder)
    return exported if isinstance(exported, Diagnostic) else None


def _trace_root(session: Session, leaves: Leaves, model: torch.nn.Module, inputs: Inputs, dims: Dims) -> Traced:
    """The trace of one module, by itself."""
    hooked = root_hooks(session, model)
    if hooked is not None:
        return Traced(None, (hooked,))
    inputs = by_position(model, inputs)
    recorder = Recorder(
        model, session.sources, session.internals, leaves, dims, session.request.compiled, session.regions
    )
    session.streams.begin(recorder.tick)
    session.rank_asked.begin(lambda: leaves.inside)
    with chance.watched(model, leaves, session.internals) as seen:
        exported = export(session, model, inputs, recorder)
    session.streams.end()
    if isinstance(exported, Diagnostic):
        return Traced(None, (exported,))
    of_rank = tuple(rank.asked(session))
    compared = compiling_matters(session, model, inputs, recorder)
    by_chance = tuple(chances(session, model, inputs, recorder, seen))
    parts = assemble(model, inputs.args, inputs.kwargs, exported.program, recorder)
    found = dim_problems.constrained(session, recorder)
    found = found or problems(session, exported.program, parts, recorder)
    if found:
        return Traced(None, found)
    name_all(session.sources, own_files(session.sources))
    mixed = mixed_dtypes(session, recorder, parts.ops, parts.values.all())
    lost = (*losses(session, model, exported.warned, recorder, parts.state), *mixed, *compared, *of_rank, *by_chance)
    streamed = session.streams.over(parts.moments)
    return Traced(finished(session, model, parts, recorder, lost), lost, streamed)


def register_caches(model: torch.nn.Module) -> None:
    """Let torch.export look into the caches of transformers' models; it has no way to take that back."""
    if "transformers" in sys.modules:
        with contextlib.suppress(ImportError, AttributeError):
            importlib.import_module("transformers.exporters.exporter_dynamo").register_cache_pytrees_for_model(model)
