"""The steps of a recording: import the user's code on the virtual device, build, make inputs, call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.record.session import Made, Recording
from streamsched.dsl.trace import model_rules
from streamsched.dsl.trace.request import TraceRequest
from streamsched.dsl.trace.sources import Sources
from streamsched.dsl.trace.tracing.example_inputs import load_inputs
from streamsched.dsl.trace.tracing.frames import Internals
from streamsched.dsl.trace.tracing.isolation import user_code
from streamsched.dsl.trace.tracing.loader import Session, find_attribute, load_fakes, raised, required
from streamsched.dsl.trace.tracing.world import ranks

_SEED = 0


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recording, or why there is none."""

    recording: Recording | None
    diagnostics: tuple[Diagnostic, ...] = ()


def record(request: TraceRequest, target: str, calls: int, verbose: bool = False) -> Recorded:
    """Call the forward() that `request` names `calls` times. Faults of the user's code become diagnostics."""
    sources = Sources(request.base)
    session = Session(request, sources, Internals(str(Path(torch.__file__).parent)), verbose)
    recording = Recording(target, request.base, sources)
    with user_code(request.base, sources, imports_npu=True), ranks(request.world), recording.installed():
        lacking = load_fakes(session)
        forward = lacking or _load(session, recording)
        if isinstance(forward, Diagnostic):
            return Recorded(None, (forward,))
        for _ in range(calls):
            fault = _call(session, recording, forward)
            if fault is not None:
                return Recorded(None, (fault,))
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
            return raised(session, error, request.model_span, f"{spelled} cannot be built")
        target = target if _forward(built) is None else built
    if isinstance(target, torch.nn.Module):
        recording.adopt(target.eval())
    forward = _forward(target)
    if forward is None:
        return model_rules.not_a_module(
            request.model_span, f"{spelled} is a {type(target).__name__}, which cannot be called"
        )
    return forward


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
    if session.request.inputs_from is None:
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
    if tensor.is_meta:
        return
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
        return raised(session, error, session.request.model_span, "forward() cannot be run on the virtual device")
    return None
