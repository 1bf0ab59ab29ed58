"""The steps of a trace: load the model, export it under observation, assemble."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import logging
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from streamsched.dsl.diagnostic import Diagnostic, Related, Span
from streamsched.dsl.trace import rules
from streamsched.dsl.trace.model import NONE, Trace
from streamsched.dsl.trace.request import Traced, TraceRequest
from streamsched.dsl.trace.sources import Sources, name_all
from streamsched.dsl.trace.store import digest
from streamsched.dsl.trace.tracing import assemble, failures
from streamsched.dsl.trace.tracing.arguments import class_name, opaque
from streamsched.dsl.trace.tracing.assemble import Assembled
from streamsched.dsl.trace.tracing.example_inputs import Inputs, by_position, load_inputs
from streamsched.dsl.trace.tracing.frames import Internals
from streamsched.dsl.trace.tracing.isolation import imports_npu, own_files, user_code
from streamsched.dsl.trace.tracing.loader import Session, load_model
from streamsched.dsl.trace.tracing.provenance import Recorder
from streamsched.dsl.trace.tracing.refusals import refusal
from streamsched.dsl.trace.tracing.values import issue_of

_LOST = re.compile(r"The tensor attributes? (.*) (?:was|were) assigned during export")


def trace(request: TraceRequest, verbose: bool, report: Callable[[str], None]) -> Traced:
    """The trace of the request's model, or why there is none."""
    sources = Sources(request.base)
    session = Session(request, sources, Internals(str(Path(torch.__file__).parent)), verbose)
    with user_code(request.base, sources, imports_npu(Path(request.base, request.file))):
        report("building the model")
        model = load_model(session)
        if isinstance(model, Diagnostic):
            return Traced(None, (model,))
        _register_caches(model)
        inputs = load_inputs(session, model)
        if isinstance(inputs, Diagnostic):
            return Traced(None, (inputs,))
        inputs = by_position(model, inputs)
        report("tracing the model")
        recorder = Recorder(model, sources, session.internals)
        exported = _export(session, model, inputs, recorder)
        if isinstance(exported, Diagnostic):
            return Traced(None, (exported,))
        program, lost = exported
        report("assembling the trace")
        parts = assemble.assemble(model, inputs.args, inputs.kwargs, program, recorder)
        problems = _problems(session, parts, recorder)
        if problems:
            return Traced(None, problems)
        name_all(sources, own_files(sources))
        warned = tuple(rules.attribute_not_kept(request.model_span, message) for message in lost)
        return Traced(_finish(session, model, parts, recorder, lost), warned)


def _register_caches(model: torch.nn.Module) -> None:
    """Let torch.export look into the caches of transformers' models; it has no way to take that back."""
    if "transformers" in sys.modules:
        with contextlib.suppress(ImportError, AttributeError):
            importlib.import_module("transformers.exporters.exporter_dynamo").register_cache_pytrees_for_model(model)


def _export(
    session: Session, model: torch.nn.Module, inputs: Inputs, recorder: Recorder
) -> tuple[ExportedProgram, tuple[str, ...]] | Diagnostic:
    """The exported program, and what it lost of the model's doing."""
    try:
        with torch.no_grad(), _quiet() as warned, _lenient(), recorder.recording():
            program = torch.export.export(model, inputs.args, inputs.kwargs, strict=False)
            return program, tuple(_lost_attributes(warned))
    except (Exception, SystemExit) as error:
        return refusal(session, recorder.code, error)


def _lost_attributes(warned: list[warnings.WarningMessage]) -> Iterator[str]:
    for warning in warned:
        match = _LOST.match(str(warning.message))
        if match is not None:
            yield f"forward() leaves a tensor in {match[1]}, which is no buffer: generated code will not"


@contextlib.contextmanager
def _quiet() -> Iterator[list[warnings.WarningMessage]]:
    """Keep warnings and log lines about torch's own inside to ourselves: what fails is told by diagnostics."""
    logger = logging.getLogger("torch")
    level = logger.level
    children = [child for name, child in logging.root.manager.loggerDict.items() if name.startswith("torch.")]
    disabled = [child for child in children if isinstance(child, logging.Logger) and not child.disabled]
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for child in disabled:
            child.disabled = True
        logger.setLevel(logging.CRITICAL)
        try:
            yield warned
        finally:
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


def _problems(session: Session, parts: Assembled, recorder: Recorder) -> tuple[Diagnostic, ...]:
    span = session.request.model_span
    found: list[Diagnostic] = []
    for node in parts.unsupported:
        message = f"forward() uses `{node.target}`, which does not trace into one sequence of ops"
        found.append(rules.unsupported_construct(span, message, _related(session, recorder, node, "here"), ()))
    for bad in parts.bad_constants:
        related = _related(session, recorder, bad.node, "the constant is made here")
        found.append(rules.constant_without_values(span, bad.message, related))
    if recorder.calls.rebound:
        message = f"forward() puts another tensor into {recorder.calls.rebound[0]}, which generated code cannot do"
        found.append(
            rules.unsupported_construct(span, message, (), (), "copy into the tensor that is there: `copy_()`")
        )
    for unknown in opaque(parts.result):
        message = f"forward() returns {unknown}, which generated code cannot make"
        advice = "return tensors, in tuples, lists, dicts or dataclasses (`use_cache=False` for a language model)"
        found.append(rules.unsupported_construct(span, message, (), (), advice))
    return tuple(found)


def _related(session: Session, recorder: Recorder, node: Node, message: str) -> tuple[Related, ...]:
    """The user's own innermost place that issued a node."""
    issue = recorder.issues.get(issue_of(node) or 0)
    if issue is None or issue.stack == NONE:
        return ()
    positions = recorder.positions.all_positions()
    stack = [positions[index] for index in recorder.positions.all_stacks()[issue.stack]]
    own = [p for p in stack if not session.sources.is_installed(p.file)]
    for position in (own or stack)[-1:]:
        span = Span(
            failures.path_of(position.file, session.request.base, session.sources),
            position.line,
            position.column,
            position.end_line,
            position.end_column,
        )
        return (Related(span, message),)
    return ()


def _finish(
    session: Session, model: torch.nn.Module, parts: Assembled, recorder: Recorder, lost: tuple[str, ...]
) -> Trace:
    file = session.sources.key(recorder.code.co_filename) if recorder.code else ""
    statements, places = assemble.statements(recorder, file, parts.ops)
    torch_version, python_version = assemble.versions()
    made = Trace(
        determined_by=session.request.determined_by,
        torch_version=torch_version,
        python_version=python_version,
        root=class_name(type(model)),
        parameters=assemble.parameters(model),
        inputs=parts.inputs,
        result=parts.result,
        ops=tuple(dataclasses.replace(op, statement=places.get(op.statement, NONE)) for op in parts.ops),
        values=parts.values.all(),
        storages=parts.values.memory.all(),
        calls=parts.calls,
        statements=statements,
        positions=recorder.positions.all_positions(),
        stacks=recorder.positions.all_stacks(),
        sources=session.sources.described(),
        warnings=(*lost, *_warnings(parts)),
    )
    return dataclasses.replace(made, digest=digest(made))


def _warnings(parts: Assembled) -> tuple[str, ...]:
    asking = {index for index, call in enumerate(parts.calls) if call.branches_on_compiling}
    inner = sorted(asking - {parts.calls[index].parent for index in asking})
    if not inner:
        return ()
    others = f" (and {len(inner) - 1} others)" if len(inner) > 1 else ""
    who = parts.calls[inner[0]].label or "the model"
    return (f"{who}{others} asks whether it is being compiled; the trace holds what it does when it is",)
