"""The steps of a recording: import the user's code on the virtual device, build, make inputs, call."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import torch

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.record import run_rules
from streamsched.dsl.record.fake import NeedsValuesError
from streamsched.dsl.record.program import NPUGRAPH_EX
from streamsched.dsl.record.session import Made, Recording
from streamsched.dsl.trace import model_rules
from streamsched.dsl.trace.request import TraceRequest
from streamsched.dsl.trace.sources import Sources
from streamsched.dsl.trace.tracing.example_inputs import load_inputs
from streamsched.dsl.trace.tracing.frames import Internals
from streamsched.dsl.trace.tracing.isolation import user_code
from streamsched.dsl.trace.tracing.loader import Session, find_attribute, load_fakes, raised, required
from streamsched.dsl.trace.tracing.traps.compiling import told
from streamsched.dsl.trace.tracing.world import ranks

_SEED = 0

_NEEDS_GRADIENTS = "does not require grad"
"""How torch refuses `backward()` where nothing was recorded for it."""

_ON_META_ONLY = re.compile(r"(?:\w+: )?Could not run '(\w+::\w+)[\w.]*' with arguments from the 'CPU' .*", re.DOTALL)
"""How torch says at length that an operator has no implementation that computes values."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recording, or why there is none."""

    recording: Recording | None
    diagnostics: tuple[Diagnostic, ...] = ()


def record(
    request: TraceRequest,
    target: str,
    calls: int,
    verbose: bool = False,
    fake: bool = False,
    scopes: tuple[str, ...] = (),
) -> Recorded:
    """Call the forward() that `request` names `calls` times. Faults of the user's code become diagnostics.

    With `fake` tensors have no values, and may be of any size. What the modules at the paths `scopes` issue is marked.
    """
    sources = Sources(request.base)
    session = Session(request, sources, Internals(str(Path(torch.__file__).parent)), verbose)
    recording = Recording(target, request.base, sources, "meta" if fake else "cpu")
    with user_code(request.base, sources, imports_npu=True), ranks(request.world), recording.installed():
        lacking = load_fakes(session)
        forward = lacking or _load(session, recording)
        if isinstance(forward, Diagnostic):
            return Recorded(None, (advised(forward),))
        if isinstance(forward, torch.nn.Module):
            recording.watch(forward, scopes)
        compiled = told(session.internals, True, lambda _: None) if target == NPUGRAPH_EX else nullcontext()
        with compiled:  # npugraph_ex compiles the forward(), which may ask for it
            for _ in range(calls):
                fault = _call(session, recording, forward)
                if fault is not None:
                    return Recorded(None, (advised(fault),))
    return Recorded(recording)


def _load(session: Session, recording: Recording) -> Callable[..., Any] | Diagnostic:
    """What is to be called: a module, what the named builder returns, or the named function itself."""
    request = session.request
    found = find_attribute(session, request.file, request.attribute, request.model_span)
    if isinstance(found, Diagnostic):
        return found
    target, spelled = found.value, f'"{request.file}:{request.attribute}"'
    if not isinstance(target, torch.nn.Module) and callable(target) and not required(target):
        try:
            with torch.device(recording.device.kind):
                built = target()
        except (Exception, SystemExit) as error:
            return ended(session, recording, error) or raised(
                session, error, request.model_span, f"{spelled} cannot be built"
            )
        target = target if _forward(built) is None else built
    recording.take(target)
    forward = _forward(target)
    if forward is None:
        return model_rules.not_a_module(
            request.model_span, f"{spelled} is a {type(target).__name__}, which cannot be called"
        )
    return forward


def advised(diagnostic: Diagnostic) -> Diagnostic:
    """With what to do where a package or an operator is not there, or an operator has no values."""
    module = re.search(r"ModuleNotFoundError: No module named '([\w.]+)'", diagnostic.message)
    operator = re.search(r"'_OpNamespace' '(\w+)' object has no attribute '(\w+)'", diagnostic.message)
    if module:
        how = f'a --fakes file can stand in for it: `missing_module("{module[1]}", ...)`'
        return replace(diagnostic, help=how)
    if operator:
        name = f"{operator[1]}::{operator[2]}"
        return replace(diagnostic, help=f'a --fakes file can register it: `@torch.library.custom_op("{name}", ...)`')
    if _NEEDS_GRADIENTS in diagnostic.message:
        return replace(diagnostic, help="audit runs code for inference, without gradients: leave out `backward()`")
    if on_meta := _ON_META_ONLY.search(diagnostic.message):
        message = f"{diagnostic.message[: on_meta.start()]}`{on_meta[1]}` has no implementation for the CPU"
        how = f'run without values, with --fake, or register one: `@torch.library.impl("{on_meta[1]}", "cpu")`'
        return replace(diagnostic, message=message, help=how)
    return diagnostic


def _forward(target: Any) -> Callable[..., Any] | None:
    """What of `target` to call: itself, or its forward(); None where there is nothing."""
    found = target if callable(target) else getattr(target, "forward", None)
    return found if callable(found) else None


def _inputs(session: Session, recording: Recording, forward: Callable[..., Any]) -> Made | Diagnostic:
    """New arguments for one call, on the device unless they say otherwise."""
    model = forward if isinstance(forward, torch.nn.Module) else _Function(forward)
    inputs = load_inputs(session, cast(torch.nn.Module, model), device=recording.device.kind)
    if isinstance(inputs, Diagnostic):
        return inputs
    if session.request.inputs_from is None and not recording.recorder.fake:
        with recording.recorder.silence():
            for tensor in inputs.kwargs.values():
                _fill(tensor)
    return inputs.args, inputs.kwargs


@dataclass(frozen=True)
class _Function:
    """A plain function where a module is expected."""

    forward: Callable[..., Any]


def _fill(tensor: torch.Tensor) -> None:
    """Give a tensor small values, the same in every run: integers are zero, so that they index anything."""
    if tensor.dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        tensor.normal_(0.0, 0.1, generator=torch.Generator().manual_seed(_SEED))
    else:
        tensor.zero_()


def _call(session: Session, recording: Recording, forward: Callable[..., Any]) -> Diagnostic | None:
    made = _inputs(session, recording, forward)
    if isinstance(made, Diagnostic):
        return made
    given = [made]
    del made  # the call is to hold the only names of its arguments
    try:
        recording.call(forward, given.pop)
    except (Exception, SystemExit) as error:
        return ended(session, recording, error) or raised(
            session, error, session.request.model_span, "forward() cannot be run on the virtual device"
        )
    return ended(session, recording)


def ended(session: Session, recording: Recording, error: BaseException | None = None) -> Diagnostic | None:
    """Why a run without values came to its end, if it did; whatever exception left the user's code."""
    refused = recording.recorder.refusals.errors
    if not refused:
        return None
    first = refused[0]
    related, notes = session.related(first), session.notes(error or first)
    rule = run_rules.needs_values if isinstance(first, NeedsValuesError) else run_rules.needs_fake
    span = related[0].span if related else session.request.model_span
    return rule(span, str(first), related[1:], notes)
