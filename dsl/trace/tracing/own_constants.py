"""The plain attributes that a module's forward() reads, and those whose numbers the ops have.

Whatever its own code reads may choose what is done, or numbers may come of it. A function that is given the module may
look up any attribute whose name it mentions: of these, those count whose numbers stand in the ops.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Hashable, Iterator, Sequence
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import Any

import torch

from streamsched.dsl.trace.model import NONE, ModuleCall, Op, Value
from streamsched.dsl.trace.numbers import numbers_in, numbers_of_call, numbers_of_op
from streamsched.dsl.trace.tracing.accessors import attribute
from streamsched.dsl.trace.tracing.arguments import literal
from streamsched.dsl.trace.tracing.own_code import own_codes, own_names
from streamsched.dsl.trace.tracing.own_reads import reads_of
from streamsched.dsl.trace.tracing.provenance.calls import forward_code
from streamsched.dsl.trace.tracing.scope.names_read import names_read
from streamsched.dsl.trace.tracing.state.attributes import is_of_every_module

Constant = tuple[str, str, str]
"""An attribute's expression, its value, and the number or numbers that come of it, as Python."""


def with_constants(
    calls: Sequence[ModuleCall], modules: Sequence[torch.nn.Module], ops: Sequence[Op], values: Sequence[Value]
) -> tuple[ModuleCall, ...]:
    """`calls`, which are of `modules`, with the attributes whose numbers are in the ops and calls inside them."""
    names = _Names()
    return tuple(
        dataclasses.replace(call, constants=tuple(_in_ops(module, f"self{call.accessor}", inside, names)))
        for call, module, inside in zip(calls, modules, _numbers(calls, ops, values), strict=True)
    )


def constants_read(module: torch.nn.Module, accessor: str) -> Iterator[tuple[str, str]]:
    """The constants among the attributes that forward() reads: they choose what is done, or numbers come of them that
    need not be seen in an op as they are. A function is told by its name."""
    for text, value in _read(module, accessor):
        held = _text(value) or literal(value)
        if held is not None and held != "'meta'":
            yield text, held
        elif isinstance(value, FunctionType | BuiltinFunctionType) and value.__name__.isidentifier():
            yield f"{text}.__name__", repr(value.__name__)


def _numbers(calls: Sequence[ModuleCall], ops: Sequence[Op], values: Sequence[Value]) -> list[set[Hashable]]:
    """For each call, the numbers in its ops, and in the calls inside it."""
    found: list[set[Hashable]] = [set() for _ in calls]
    for op in ops:
        found[op.call].update(numbers_of_op(op, values))
    for index in range(len(calls) - 1, 0, -1):
        call = calls[index]
        if call.parent != NONE:
            found[call.parent] |= found[index] | set(numbers_of_call(call, values))
    return found


def _in_ops(module: torch.nn.Module, accessor: str, inside: set[Hashable], names: _Names) -> Iterator[Constant]:
    """The attributes that numbers `inside` may come of, each with those numbers."""
    if not inside:
        return
    found: dict[Constant, None] = {}
    for text, value in _looked_up(module, accessor, names):
        held = _text(value)
        numbers = numbers_in(held) if held is not None else None
        if held is not None and numbers and numbers <= inside:
            found[text, held, held] = None
    yield from found


def _read(module: torch.nn.Module, accessor: str) -> Iterator[tuple[str, Any]]:
    """Each attribute in the code of a module: its expression, and what it holds."""
    found = [reads_of(code) for code in own_codes(module)]
    written = frozenset[str]().union(*(each.written for each in found), {"training"})
    for place in dict.fromkeys(place for each in found for place in each.places):
        if place.steps[0] in written:
            continue
        with contextlib.suppress(Exception):  # of the user's code: it is not there
            yield place.text(accessor), place.held(module)


def _looked_up(module: torch.nn.Module, accessor: str, names: _Names) -> Iterator[tuple[str, Any]]:
    """The attributes that functions may read which are given the module, and which are not read by its own code."""
    codes = own_codes(module)
    found = [reads_of(code) for code in codes]
    if not any(each.gives_self for each in found):
        return
    own = {name for code in codes for name, _ in own_names(code)}.union(*(each.written for each in found))
    mentioned = names.of(module) - own
    for name, value in vars(module).items():
        step = attribute(name)
        if step is not None and name in mentioned and not is_of_every_module(name):
            yield accessor + step, value


class _Names:
    """The names in the code of a module and in what it calls: the same for all of a class."""

    def __init__(self) -> None:
        self._found: dict[tuple[type, CodeType | None], frozenset[str]] = {}

    def of(self, module: torch.nn.Module) -> frozenset[str]:
        key = type(module), forward_code(module)
        if key not in self._found:
            self._found[key] = names_read([module])
        return self._found[key]


def _text(value: Any) -> str | None:
    """A number, a dtype, or a list or tuple of them, as Python; None for anything else, and for a NaN."""
    if type(value) in (list, tuple):
        items = [_text(item) for item in value]
        inside = ", ".join(item for item in items if item is not None)
        if None in items or not items:
            return None
        return f"[{inside}]" if type(value) is list else f"({inside}{',' * (len(items) == 1)})"
    if isinstance(value, bool) or not isinstance(value, int | float | complex | torch.dtype) or value != value:
        return None
    return literal(value)
