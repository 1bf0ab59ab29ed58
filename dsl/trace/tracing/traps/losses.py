"""What forward() does that a trace does not hold, in people's words."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator

import torch

from streamsched.dsl.diagnostic import Diagnostic, Related, Span
from streamsched.dsl.trace import loss_rules
from streamsched.dsl.trace.tracing import failures
from streamsched.dsl.trace.tracing.loader import Session
from streamsched.dsl.trace.tracing.places import at, returned
from streamsched.dsl.trace.tracing.provenance.recorder import Recorder
from streamsched.dsl.trace.tracing.state.kept import State
from streamsched.dsl.trace.tracing.traps.device_branches import branches

_LOST = re.compile(r"The tensor attributes? (.*) (?:was|were) assigned during export")


def losses(
    session: Session,
    model: torch.nn.Module,
    warned: Iterable[warnings.WarningMessage],
    recorder: Recorder,
    state: State,
) -> Iterator[Diagnostic]:
    """What forward() does that the trace does not hold."""
    span = session.request.model_span
    tensors = list(_lost_tensors(model, warned))
    if tensors:
        names = ", ".join(tensors)
        message = f"forward() leaves a tensor in {names}, which is no buffer: generated code will not leave one there"
        yield loss_rules.attribute_not_kept(span, message)
    yield from _changed(span, recorder, state)
    yield from _device_branches(session, recorder)
    for place in session.regions.enabled:
        yield loss_rules.autocast_not_traced(span, at(session, place, "the region"))
    for real, other in dict.fromkeys(recorder.calls.returned.replaced if recorder.calls.returned else ()):
        message = f"forward() returns a {real}; generated code returns a {other} with the same content"
        yield loss_rules.result_type_changes(span, message, returned(session, recorder))


def _changed(span: Span, recorder: Recorder, state: State) -> Iterator[Diagnostic]:
    """The plain attributes that forward() changes: those that it does not read, and those that `state` assigns."""
    read = {assignment.target for assignment in state.assignments}
    targets = dict.fromkeys(recorder.calls.target(change) for change in recorder.calls.changed)
    unread = [target for target in targets if target not in read]
    if unread:
        message = f"forward() changes {', '.join(unread)}, which generated code will not do unless it calls the module"
        yield loss_rules.attribute_not_kept(span, message)
    steering = [target for target in targets if target in read]
    if steering:
        message = (
            f"forward() changes {', '.join(steering)}, and what it reads there is built in: a call that finds "
            "something else there than the traced one runs the original forward()"
        )
        yield loss_rules.attribute_not_kept(span, message)


def _device_branches(session: Session, recorder: Recorder) -> Iterator[Diagnostic]:
    """The warnings about conditions that only the tracing device answers so."""
    request = session.request
    called = (record.code for record in recorder.calls.records if record.code is not None)
    for code in dict.fromkeys((*called, *recorder.positions.codes())):
        for found in branches(code, request.device):
            path = failures.shown_path(code.co_filename, request.base, session.sources)
            span = Span(path, found.line, found.column, found.end_line, found.end_column)
            message = (
                f"{code.co_qualname}() asks `{found.text}`, which the tracing device answers unlike {request.device}"
            )
            yield loss_rules.device_decides(request.model_span, message, (Related(span, "here"),))


def _lost_tensors(model: torch.nn.Module, warned: Iterable[warnings.WarningMessage]) -> Iterator[str]:
    """The attributes that torch.export saw another tensor in; not the weights that an RNN lists a second time."""
    own = {
        f"self.{path}._flat_weights[" if path else "self._flat_weights["
        for path, module in model.named_modules()
        if isinstance(module, torch.nn.RNNBase)
    }
    for warning in warned:
        match = _LOST.match(str(warning.message))
        for name in match[1].split(", ") if match is not None else ():
            if not name.startswith(tuple(own)):
                yield name
