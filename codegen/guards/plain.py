"""That the modules whose ops are printed one by one would run these: of the traced class, in evaluation mode, with no
hooks and no `forward` of their own."""

from __future__ import annotations

from collections.abc import Iterator

from streamsched.codegen.forward.folding import Folding
from streamsched.codegen.guards.check import Check, is_constant, is_of_class, last_name
from streamsched.codegen.guards.modules import OWN, is_unfolded
from streamsched.codegen.guards.places import owners
from streamsched.dsl.trace.model import COND, NONE, ModuleCall, StorageKind, Trace, refs

ALTERED = "_altered"
"""The function of a generated file that tells how a module is not as it was traced."""

_HELD = (StorageKind.PARAMETER, StorageKind.BUFFER)


def plain(trace: Trace, folding: Folding) -> Iterator[Check]:
    """The checks of the modules inside the scope that are not called, each module once."""
    seen: set[str] = set()
    for index, call in enumerate(trace.calls):
        expression = f"self{call.accessor}"
        if call.accessor and expression not in seen and is_unfolded(trace, folding, _with_ops(trace, index)):
            seen.add(expression)
            yield from _called(expression, call)
    for expression in _in_branches(trace, folding):
        if expression not in seen:
            seen.add(expression)
            yield Check(expression, expression, "None", f"{expression}: without hooks", ALTERED)


def _called(expression: str, call: ModuleCall) -> Iterator[Check]:
    """The checks of a module that was called; what the hooks did that it was traced with is printed, too."""
    name = last_name(call.type)
    if call.hooked:
        yield is_of_class(expression, name)
        yield is_constant(f"{expression}.training", "False")
    else:
        yield Check(expression, expression, f'"{name}"', f"{expression}: {name}, without hooks", ALTERED)


def _with_ops(trace: Trace, index: int) -> int:
    """A call, or the nearest around it that has ops: where that is printed as a call, this one is in it."""
    while trace.calls[index].begin == trace.calls[index].end and trace.calls[index].parent != NONE:
        index = trace.calls[index].parent
    return index


def _in_branches(trace: Trace, folding: Folding) -> Iterator[str]:
    """The modules on the way to what branches of `torch.cond` are given of parameters and buffers: the trace does not
    tell which modules are called in there."""
    for index, op in enumerate(trace.ops):
        if op.target == COND and folding.call_of[index] == NONE:
            given = (trace.values[value] for argument in op.args for value in refs(argument))
            held = (value for value in given if trace.storages[value.storages[0]].kind in _HELD and value.expression)
            yield from (owner for value in held for owner in owners(value.expression) if owner.startswith(OWN))
