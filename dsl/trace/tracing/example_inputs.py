"""Making the example inputs that forward() is traced with."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from streamsched.dsl.diagnostic import Diagnostic, Span
from streamsched.dsl.nearest import did_you_mean
from streamsched.dsl.trace import model_rules
from streamsched.dsl.trace.request import DTYPES, TraceRequest
from streamsched.dsl.trace.tracing.accelerator import on_meta
from streamsched.dsl.trace.tracing.dims.symbols import Dims
from streamsched.dsl.trace.tracing.known import KnownNumbers
from streamsched.dsl.trace.tracing.loader import Session, find_attribute, kind, raised


@dataclass(frozen=True, slots=True)
class Inputs:
    """How forward() is called. `known` has the numbers in the objects among the arguments, such as a cache's length."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    known: KnownNumbers | None = field(default=None, compare=False)


def load_inputs(
    session: Session, model: torch.nn.Module, dims: Dims | None = None, device: str = "meta"
) -> Inputs | Diagnostic:
    """The example inputs of the request, made under `device`, checked against forward()'s parameters; `dims` has the
    sizes of dynamic dims."""
    request = session.request
    span = request.inputs_span or request.schedule_span
    from_function = request.inputs_from is not None
    made = _from_function(session, span, device) if from_function else _from_statements(request, span, dims, device)
    if isinstance(made, Diagnostic):
        return made
    return _check(model, made, span) or made


def _from_statements(request: TraceRequest, span: Span, dims: Dims | None, device: str) -> Inputs | Diagnostic:
    tensors: dict[str, torch.Tensor] = {}
    dims = dims or Dims.of(request.inputs)
    for tensor in request.inputs:
        dtype = getattr(torch, DTYPES.get(tensor.dtype, tensor.dtype), None)
        if not isinstance(dtype, torch.dtype):
            known = did_you_mean(tensor.dtype, DTYPES) or f"the dtypes are {', '.join(DTYPES)}"
            return model_rules.wrong_inputs(span, f"`{tensor.dtype}` of input `{tensor.name}` is no dtype", (), known)
        if tensor.name in tensors:
            return model_rules.wrong_inputs(span, f"input `{tensor.name}` is given twice", (), None)
        try:
            tensors[tensor.name] = torch.empty(dims.shape(tensor.shape), dtype=dtype, device=device)
        except (RuntimeError, OverflowError, TypeError):  # torch counts its bytes in 64 bits
            sizes = ", ".join(map(str, tensor.shape))
            return model_rules.wrong_inputs(span, f"input `{tensor.name}` of shape [{sizes}] is too large", (), None)
    return Inputs((), tensors)


def _from_function(session: Session, span: Span, device: str) -> Inputs | Diagnostic:
    assert session.request.inputs_from is not None
    with on_meta() if device == "meta" else contextlib.nullcontext():
        return _called(session, *session.request.inputs_from, span, device)


def _called(session: Session, file: str, attribute: str, span: Span, device: str) -> Inputs | Diagnostic:
    """What the function `attribute` of `file` makes."""
    found = find_attribute(session, file, attribute, span)
    if isinstance(found, Diagnostic):
        return found
    known = KnownNumbers() if device == "meta" and session.request.scope is not None else None
    try:
        with torch.device(device), torch.no_grad(), known.making_inputs() if known else contextlib.nullcontext():
            made = found.value()
    except (Exception, SystemExit) as error:
        return raised(session, error, span, f'"{file}:{attribute}" makes no inputs')
    if known:
        known.keep_state(made)
    if isinstance(made, Mapping):
        return Inputs((), dict(made), known)
    if isinstance(made, tuple) and len(made) == 2 and isinstance(made[0], tuple) and isinstance(made[1], Mapping):
        return Inputs(made[0], dict(made[1]), known)
    if isinstance(made, tuple):
        return Inputs(made, {}, known)
    return model_rules.wrong_inputs(
        span,
        f'"{file}:{attribute}" returns {kind(made)}',
        (),
        "return a tuple (the positional arguments), a dict (the keyword arguments), or a pair of both",
    )


def _check(model: torch.nn.Module, inputs: Inputs, span: Span) -> Diagnostic | None:
    """What is wrong with calling `model.forward` with `inputs`."""
    signature = inspect.signature(model.forward)
    names = list(signature.parameters)
    takes_any = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    spelled = f"forward({', '.join(map(str, signature.parameters.values()))})"
    for name in inputs.kwargs:
        if name not in signature.parameters and not takes_any:
            advice = did_you_mean(name, names) or _advice(signature)
            return model_rules.wrong_inputs(span, f"input `{name}` is no parameter of {spelled}", (), advice)
    try:
        signature.bind(*inputs.args, **inputs.kwargs)
    except TypeError as error:
        lacking = None if inputs.args else _missing(signature, inputs)
        return model_rules.wrong_inputs(span, f"{spelled} cannot be called with these inputs: {error}", (), lacking)
    return None


def _missing(signature: inspect.Signature, inputs: Inputs) -> str | None:
    """What to write for the first parameter that is given nothing."""
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    lacking = (q.name for q in signature.parameters.values() if q.kind in named and q.default is q.empty)
    first = next((name for name in lacking if name not in inputs.kwargs), None)
    return f"describe it, as in `input {first}: f32[8, 64]`" if first else None


def _advice(signature: inspect.Signature) -> str:
    """What to write for an input that is no parameter, and none is named nearly so."""
    parameters = signature.parameters.values()
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return (
            "what it takes has no name: give it with `inputs from`, a function that returns the positional arguments "
            "in a tuple"
        )
    return f"its parameters are {', '.join(signature.parameters)}" if parameters else "it takes no arguments"


def by_position(model: torch.nn.Module, inputs: Inputs) -> Inputs:
    """The same call with everything positional that can be, as people write it."""
    bound = inspect.signature(model.forward).bind(*inputs.args, **inputs.kwargs)
    return Inputs(bound.args, dict(bound.kwargs))
