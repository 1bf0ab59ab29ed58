"""The device that a model was traced on, written as the device that the forward runs on."""

from __future__ import annotations

from streamsched.codegen.spell.call import context_device, is_traced_device
from streamsched.dsl.trace.model import Argument, Instance, Literal, Mapping, Sequence, Trace

_TRACED = "device='meta'"
_TRACED_REGION = "torch.autocast('meta'"


def located(argument: Argument, trace: Trace) -> Argument:
    """A tree of arguments with the forward's device in the place of the traced one."""
    match argument:
        case Literal():
            return Literal(_device(trace)) if is_traced_device(argument) and _device(trace) else argument
        case Sequence(kind, items):
            return Sequence(kind, tuple(located(item, trace) for item in items))
        case Mapping(keys, items):
            return Mapping(keys, tuple(located(item, trace) for item in items))
        case Instance(type_, fields, items):
            return Instance(type_, fields, tuple(located(item, trace) for item in items))
    return argument


def located_expression(expression: str, trace: Trace) -> str:
    """The expression of a value that no op makes, on the forward's device: `torch.empty((0,), device=x.device)`."""
    if _TRACED not in expression or not _device(trace):
        return expression
    return expression.replace(_TRACED, f"device={_device(trace)}")


def located_context(context: str, trace: Trace) -> str:
    """A `with` expression, `torch.autocast('meta', ...)` on the forward's device."""
    if not context.startswith(_TRACED_REGION) or not _device(trace):
        return context
    return context.replace(_TRACED_REGION, f"torch.autocast({_device(trace)}.type", 1)


def _device(trace: Trace) -> str:
    return context_device(trace, lambda value: trace.values[value].expression)
