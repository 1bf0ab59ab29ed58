"""What is known of an operator before it is called, looked up once for each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch

from streamsched.dsl.record import collectives
from streamsched.dsl.trace.tracing.assembly import effects
from streamsched.dsl.trace.tracing.assembly.unsaid_writes import may_write
from streamsched.dsl.trace.tracing.collectives import is_unordered, is_wait

_STRAYING = frozenset(["aten::as_strided_copy", "aten::as_strided_scatter"])
"""Operators that look at the storage of an operand wherever they are told to."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an operator. `out` tells that it is written and not read."""

    name: str
    written: bool
    out: bool


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator by its schema. `name` is without the namespace.

    `silent` means that it does nothing on any device; `looks`, that it reads its operands' data; `changes`, that what
    it writes is data; `reads_values`, that the host must wait for the result; `unsaid`, that it may write what its
    schema does not say; `exact`, that it touches only what its operands cover, and nothing in the gaps between their
    rows; `strays`, that it goes beyond.
    """

    target: Any
    name: str
    parameters: tuple[Parameter, ...]
    silent: bool
    copies: bool
    looks: bool
    changes: bool
    allocates: bool
    reads_values: bool
    indexes: bool
    begins: bool
    waits: bool
    unsaid: bool
    exact: bool
    strays: bool

    @classmethod
    def of(cls, target: Any) -> Operator:
        """What the schema of an overload says."""
        full = effects.base_name(target)
        arguments = target._schema.arguments
        return cls(
            target,
            full.rpartition("::")[2],
            tuple(_parameter(target, argument) for argument in arguments),
            silent=effects.is_assert(target) or collectives.only_wraps(target),
            copies=full == "aten::copy_",
            looks=not effects.looks_at_metadata(target),
            changes=not effects.changes_only_metadata(target),
            allocates=effects.allocates(target),
            reads_values=effects.depends_on_data(target),
            indexes=full == "aten::index",
            begins=collectives.begins(target),
            waits=is_wait(target),
            unsaid=may_write(full),
            exact=full.startswith("aten::"),
            strays=full in _STRAYING,
        )

    def operands(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[Parameter, torch.Tensor]]:
        """The tensors among the arguments of a call, each with its parameter."""
        parameters = self._parameters(args, kwargs) if self.unsaid else self.parameters
        for parameter, value in zip(parameters, args, strict=False):
            if isinstance(value, torch.Tensor | list | tuple):
                for tensor in tensors(value):
                    yield parameter, tensor
        if kwargs:
            for parameter in parameters[len(args) :]:
                for tensor in tensors(kwargs.get(parameter.name)):
                    yield parameter, tensor

    def _parameters(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Parameter, ...]:
        """The parameters as this call uses them: it may write some of which the schema says nothing."""
        written = effects.written(self.target, args, kwargs)
        return tuple(replace(p, written=True) if p.name in written else p for p in self.parameters)

    def makes_host_wait(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether the host must wait for the result of a call, to read it or to know how large it is."""
        if not self.indexes:
            return self.reads_values
        indices = effects.argument_values(self.target, args, kwargs)["indices"]
        return any(index is not None and index.dtype in (torch.bool, torch.uint8) for index in indices)


def _parameter(target: Any, argument: torch.Argument) -> Parameter:
    if is_unordered(target):  # the schemas of `torch.distributed` do not tell what is written
        return Parameter(argument.name, *collectives.fills(target, argument.name))
    written = effects.is_written(argument)
    return Parameter(argument.name, written, written and argument.is_out)


class Operators:
    """Every operator met so far."""

    def __init__(self) -> None:
        self._known: dict[Any, Operator] = {}

    def __getitem__(self, target: Any) -> Operator:
        found = self._known.get(target)
        if found is None:
            found = self._known[target] = Operator.of(target)
        return found


def tensors(value: Any) -> list[torch.Tensor]:
    """The tensors in what an operator takes or gives: one, or lists of them."""
    if isinstance(value, torch.Tensor):
        return [collectives.plain(value)]
    if isinstance(value, list | tuple):
        return [tensor for item in value if item is not None for tensor in tensors(item)]
    return []
