"""The parameters of forward()."""

from __future__ import annotations

import inspect

import torch

from streamsched.dsl.trace.model import Argument, Literal, Mapping, Parameter, ParameterKind, Sequence
from streamsched.dsl.trace.tracing.arguments import describe


def parameters(root: torch.nn.Module) -> tuple[Parameter, ...]:
    """The parameters of forward(). A default that has no printed form is `...`."""
    found: list[Parameter] = []
    for parameter in inspect.signature(root.forward).parameters.values():
        default = "" if parameter.default is parameter.empty else _spell(describe(parameter.default, lambda _: None))
        found.append(Parameter(parameter.name, ParameterKind[parameter.kind.name], default))
    return tuple(found)


def _spell(argument: Argument) -> str:
    """A tree of constants as a Python expression."""
    if isinstance(argument, Literal):
        return argument.text
    if isinstance(argument, Sequence) and argument.kind != "slice":
        items = ", ".join(map(_spell, argument.items))
        if argument.kind == "list":
            return f"[{items}]"
        return f"({items},)" if len(argument.items) == 1 else f"({items})"
    if isinstance(argument, Mapping):
        return "{" + ", ".join(f"{k}: {_spell(v)}" for k, v in zip(argument.keys, argument.items, strict=True)) + "}"
    return "..."
