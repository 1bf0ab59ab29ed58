"""What keeps dims from being dynamic, in people's words; and the dims of a trace."""

from __future__ import annotations

import dataclasses
import inspect
import keyword

import torch

from streamsched.dsl.diagnostic import Diagnostic, Related
from streamsched.dsl.trace import dim_rules, refusal_rules
from streamsched.dsl.trace.model import NamedDim
from streamsched.dsl.trace.request import InputTensor, TraceRequest
from streamsched.dsl.trace.tracing import failures
from streamsched.dsl.trace.tracing.assembly.assemble import Assembled
from streamsched.dsl.trace.tracing.dims.checks import Constraint, DimChecks, multiple
from streamsched.dsl.trace.tracing.frames import raw_position
from streamsched.dsl.trace.tracing.loader import Session
from streamsched.dsl.trace.tracing.provenance.recorder import Recorder
from streamsched.dsl.trace.tracing.refusals import depends_on_data

_EXAMPLE_SIZE = 64


def misnamed(session: Session, model: torch.nn.Module) -> Diagnostic | None:
    """The finding that a dim has a name that is taken."""
    request = session.request
    taken = {"self", "torch", "torch_npu", *inspect.signature(model.forward).parameters}
    for name in dict.fromkeys(dim for tensor in request.inputs for dim in tensor.shape if isinstance(dim, str)):
        if name in taken or keyword.iskeyword(name):
            return dim_rules.dim_named_like_parameter(request.inputs_span or request.schedule_span, name)
    return None


def constrained(session: Session, recorder: Recorder) -> tuple[Diagnostic, ...]:
    """The dims that the model does not leave open, each with the first reason."""
    if not recorder.dims.sizes:
        return ()
    found: list[Diagnostic] = []
    told: set[str] = set()
    for constraint in DimChecks(recorder.dims, recorder.decisions).constraints():
        if told.isdisjoint(constraint.names):
            told.update(constraint.names)
            found.append(_told(session, recorder, constraint, _at(session, constraint)))
    return tuple(found)


def denied(session: Session, recorder: Recorder, error: BaseException) -> Diagnostic | None:
    """The finding that an exception came of the size of a dim; None where it did not.

    It did if what was asked of a size last, by the same line, was denied.
    """
    if not recorder.dims.sizes:
        return None
    passed = {place.code for place in failures.places(error)}
    constraint = DimChecks(recorder.dims, recorder.decisions).failure(passed)
    raised = failures.user_places(error, session.internals)
    if constraint is None or constraint.place is None or not raised or depends_on_data(error):
        return None
    asked, failed = ((place.code, raw_position(place.code, place.lasti)[0]) for place in (constraint.place, raised[-1]))
    return _told(session, recorder, constraint, session.related(error)) if asked == failed else None


def with_sizes(session: Session, found: Diagnostic) -> Diagnostic:
    """The finding that forward() raises, with what it is told of sizes where there are dynamic dims: it may take others
    only."""
    request = session.request
    names = tuple(dict.fromkeys(dim for tensor in request.inputs for dim in tensor.shape if isinstance(dim, str)))
    if found.code != refusal_rules.forward_raises.code or not names:
        return found
    shown = " and ".join(f"`{name}`" for name in names)
    note = f"it was called with primes from 11 on for {shown}, so that no two sizes are equal by chance"
    advice = f"if it takes only some sizes, {_with_number(request, names, _EXAMPLE_SIZE)}"
    return dataclasses.replace(found, notes=(note, *found.notes), help=found.help or advice)


def named_dims(recorder: Recorder, parts: Assembled) -> tuple[NamedDim, ...]:
    """The dynamic dims of a trace, each read from the first input that has it."""
    if not recorder.dims.sizes:
        return ()
    values = parts.values.all()
    bounds = DimChecks(recorder.dims, recorder.decisions).bounds(parts.ops, values)
    read: dict[str, str] = {}
    for index in parts.inputs:
        for axis, dim in enumerate(values[index].shape):
            if isinstance(dim, str):
                read.setdefault(dim, f"{values[index].expression}.shape[{axis}]")
    return tuple(NamedDim(name, read[name], bounds[name].minimum, bounds[name].maximum) for name in read)


def _told(session: Session, recorder: Recorder, constraint: Constraint, related: tuple[Related, ...]) -> Diagnostic:
    request = session.request
    span = request.inputs_span or request.schedule_span
    at = f" at {related[0].span.file}:{related[0].span.line}" if related else ""
    fixed = constraint.fixed
    if fixed is not None:
        name, size = fixed
        if size == recorder.dims.sizes[name]:
            message = f"forward() makes a plain number of `{name}`{at}, which fixes it"
            return dim_rules.fixed_dim(span, message, related, _with_number(request, (name,), _EXAMPLE_SIZE))
        message = f"forward() works only where `{name}` is {size}{at}"
        return dim_rules.fixed_dim(span, message, related, _with_number(request, (name,), size))
    same = _same(constraint)
    if same is not None:
        message = f"forward() works only where `{same[0]}` and `{same[1]}` are the same{at}"
        return dim_rules.constrained_dim(span, message, related, f"give both one name: {_renamed(request, *same)}")
    times = multiple(constraint)
    words = f"`{times[0]}` is a multiple of {times[1]}" if times else f"`{constraint.text}`"
    asked, needed = f"forward() asks{at} whether {words}", f"forward() works only where {words}{at}"
    message = asked if constraint.by_python else needed
    return dim_rules.constrained_dim(span, message, related, _with_number(request, constraint.names, _EXAMPLE_SIZE))


def _at(session: Session, constraint: Constraint) -> tuple[Related, ...]:
    if constraint.place is None:
        return ()
    return (Related(failures.span_of(constraint.place, session.request.base, session.sources), "here"),)


def _same(constraint: Constraint) -> tuple[str, str] | None:
    """The two dims that must be equal, where a condition says just that."""
    sides = [str(side) for side in constraint.condition.args]
    is_equality = type(constraint.condition).__name__ == "Equality"
    return (sides[0], sides[1]) if is_equality and sorted(sides) == list(constraint.names) and len(sides) == 2 else None


def _with_number(request: TraceRequest, names: tuple[str, ...], size: int) -> str:
    """The advice to give dims a size."""
    changed = ", ".join(_spelled(tensor, dict.fromkeys(names, str(size))) for tensor in _inputs_with(request, names))
    return f"write the size as a number: `input {changed}`"


def _renamed(request: TraceRequest, kept: str, other: str) -> str:
    changed = ", ".join(_spelled(tensor, {other: kept}) for tensor in _inputs_with(request, (kept, other)))
    return f"`input {changed}`"


def _inputs_with(request: TraceRequest, names: tuple[str, ...]) -> list[InputTensor]:
    return [tensor for tensor in request.inputs if set(names) & set(map(str, tensor.shape))]


def _spelled(tensor: InputTensor, new: dict[str, str]) -> str:
    return f"{tensor.name}: {tensor.dtype}[{', '.join(new.get(str(dim), str(dim)) for dim in tensor.shape)}]"
