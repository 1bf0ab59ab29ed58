"""The dynamic dims of a forward: what they are called, and the statements that read them from the inputs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from streamsched.codegen.forward.names import RESERVED, source_names
from streamsched.dsl.program.steps import Program
from streamsched.dsl.trace.dims import is_expression, rename
from streamsched.dsl.trace.model import (
    Argument,
    Branch,
    Instance,
    Literal,
    ModuleCall,
    NamedDim,
    Op,
    Sequence,
    Trace,
)
from streamsched.dsl.trace.model import Mapping as Dictionary

_SHAPE = re.compile(r"(.+)\.shape\[(\d+)\]")
_LONGEST_UNPACKING = 4


def without_clashes(program: Program, trace: Trace) -> tuple[Program, Trace]:
    """The same program over a trace whose dims have no name that the model's source gives to something else."""
    taken = source_names(trace) | RESERVED
    new = {dim.name: _free(dim.name, taken) for dim in trace.dims if dim.name in taken}
    if not new:
        return program, trace
    renamed = _renamed_trace(trace, new)
    return replace(program, trace=renamed), renamed


def read_dims(trace: Trace, texts: Iterable[str]) -> list[str]:
    """The statements that bind the dims that `texts` name: `batch, seq = ids.shape`."""
    used = _names_in(texts, {dim.name for dim in trace.dims})
    by_tensor: dict[str, dict[int, NamedDim]] = {}
    for dim in trace.dims:
        match = _SHAPE.fullmatch(dim.expression)
        if dim.name in used and match is not None:
            by_tensor.setdefault(match[1], {})[int(match[2])] = dim
    ranks = {trace.values[index].expression: len(trace.values[index].shape) for index in trace.inputs}
    return [line for tensor, axes in by_tensor.items() for line in _read(tensor, axes, ranks.get(tensor, 0))]


def _read(tensor: str, axes: Mapping[int, NamedDim], rank: int) -> list[str]:
    if len(axes) > 1 and rank <= _LONGEST_UNPACKING:
        names = (axes[axis].name if axis in axes else "_" for axis in range(rank))
        return [f"{', '.join(names)} = {tensor}.shape"]
    return [f"{dim.name} = {dim.expression}" for _, dim in sorted(axes.items())]


def _names_in(texts: Iterable[str], names: set[str]) -> set[str]:
    """Those of `names` that are names in some of the statements `texts`, and not words in a string."""
    found: set[str] = set()
    for text in texts if names else ():
        if not names.isdisjoint(re.findall(r"\w+", text)):
            found.update(node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name))
    return found & names


def _free(name: str, taken: Iterable[str]) -> str:
    found = f"{name}_size"
    while found in taken:
        found += "_"
    return found


def _renamed_trace(trace: Trace, new: Mapping[str, str]) -> Trace:
    known = frozenset(dim.name for dim in trace.dims)

    def changed(argument: Argument) -> Argument:
        match argument:
            case Literal(text) if is_expression(text, known):
                return Literal(rename(text, new))
            case Sequence() | Dictionary() | Instance():
                return replace(argument, items=tuple(map(changed, argument.items)))
            case Branch(ops=ops):
                return replace(argument, ops=tuple(replace(op, **given(op)) for op in ops))  # type: ignore[arg-type]
        return argument

    def given(call: Op | ModuleCall) -> dict[str, tuple[object, ...]]:
        return {
            "args": tuple(map(changed, call.args)),
            "kwargs": tuple((name, changed(argument)) for name, argument in call.kwargs),
        }

    return replace(
        trace,
        ops=tuple(replace(op, **given(op)) for op in trace.ops),  # type: ignore[arg-type]
        calls=tuple(replace(call, **given(call), result=changed(call.result)) for call in trace.calls),  # type: ignore[arg-type]
        result=changed(trace.result),
        dims=tuple(replace(dim, name=new.get(dim.name, dim.name)) for dim in trace.dims),
    )
