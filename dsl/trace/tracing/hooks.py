"""Hooks of the model itself, which run outside of its forward()."""

from __future__ import annotations

import torch

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.trace import refusal_rules
from streamsched.dsl.trace.tracing.failures import Place
from streamsched.dsl.trace.tracing.loader import Session
from streamsched.dsl.trace.tracing.places import at
from streamsched.dsl.trace.tracing.provenance.recorder import Recorder

_OWN_HOOKS_ADVICE = "do it in forward(), or make the model a part of another and schedule that one"


def root_hooks(session: Session, model: torch.nn.Module) -> Diagnostic | None:
    """The finding that the model itself has forward hooks, which generated code would run a second time."""
    for hook in model._forward_hooks.values():
        return _hooked(session, hook, "forward hook")
    return None


def root_pre_hooks(session: Session, model: torch.nn.Module, recorder: Recorder) -> Diagnostic | None:
    """The same of forward pre-hooks that issued ops."""
    for hook in model._forward_pre_hooks.values() if recorder.outside else ():
        return _hooked(session, hook, "forward pre-hook")
    return None


def _hooked(session: Session, hook: object, kind: str) -> Diagnostic:
    name = getattr(hook, "__qualname__", type(hook).__qualname__)
    code = getattr(hook, "__code__", None)
    related = () if code is None else at(session, Place(code, 0), "the hook")
    message = f"the model itself has a {kind} (`{name}`), which computes outside of its forward()"
    return refusal_rules.unsupported_construct(session.request.model_span, message, related, (), _OWN_HOOKS_ADVICE)
