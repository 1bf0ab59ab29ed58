"""What the values of a program hold while it is run op by op on the CPU: given, made, shared, or garbage."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from streamsched.dsl.trace import model
from streamsched.dsl.trace.dims import evaluate_all
from streamsched.dsl.trace.model import NONE, Trace

Environment = dict[int, torch.Tensor]
"""What each value holds, by its number in the trace."""

LARGEST_GARBAGE = 3
"""Integers have no NaN: garbage integers are this large, so that they still index small tables."""


def fixed(trace: Trace, root: torch.nn.Module) -> Environment:
    """The values that no op makes and no caller gives: parameters, buffers, constants."""
    names = {"self": root, "torch": torch}
    given = set(trace.inputs)
    return {
        index: literal(value.expression, names)
        for index, value in enumerate(trace.values)
        if value.producer == NONE and index not in given and _root(value.expression) in names
    }


def _root(expression: str) -> str:
    """The name that an expression begins with."""
    return re.split(r"[.\[(]", expression, maxsplit=1)[0]


def by_storage(trace: Trace) -> Mapping[int, list[int]]:
    """The values in each storage."""
    found: dict[int, list[int]] = {}
    for index, value in enumerate(trace.values):
        for storage in value.storages:
            found.setdefault(storage, []).append(index)
    return found


def bind(tree: model.Argument, result: Any, environment: Environment) -> None:
    """Keep what a call returned as the values of its result's tree."""
    match tree:
        case model.Ref(value):
            environment[value] = result
        case model.Sequence(_, items):
            for item, part in zip(items, result, strict=True):
                bind(item, part, environment)
        case model.Mapping(keys, items):
            for key, item in zip(keys, items, strict=True):
                bind(item, result[literal(key)], environment)
        case model.Instance(_, fields, items):
            for name, item in zip(fields, items, strict=True):
                bind(item, getattr(result, name), environment)
        case _:
            pass


def literal(text: str, names: dict[str, Any] | None = None) -> Any:
    """What a constant or expression of the trace is, on the CPU; `names` are those that it may be spelled with."""
    if text == "'meta'":
        return "cpu"
    return eval(text.replace("device='meta'", "device='cpu'"), names or {"torch": torch})  # the tracer's own


def buffers(inputs: Sequence[Environment]) -> list[Environment]:
    """The memory of the inputs of each call: calls of the same sizes share it."""
    by_sizes: dict[tuple[torch.Size, ...], Environment] = {}
    found = []
    for given in inputs:
        sizes = tuple(tensor.shape for tensor in given.values())
        if sizes not in by_sizes:
            by_sizes[sizes] = {value: torch.empty_like(tensor) for value, tensor in given.items()}
        found.append(by_sizes[sizes])
    return found


def garbage(value: model.Value, sizes: Mapping[str, int]) -> torch.Tensor:
    """What is in the memory of a value that was not made yet."""
    shape, stride = evaluate_all(value.shape, sizes), evaluate_all(value.stride, sizes)
    return spoil(torch.empty_strided(shape, stride, dtype=getattr(torch, value.dtype)))


def spoil(tensor: torch.Tensor) -> torch.Tensor:
    """Overwrite a tensor with what no model computes."""
    if tensor.is_floating_point() or tensor.is_complex():
        return tensor.fill_(float("nan"))
    return tensor.fill_(True if tensor.dtype is torch.bool else LARGEST_GARBAGE)


def copied(tree: Any) -> Any:
    """A result in memory of its own."""
    if isinstance(tree, torch.Tensor):
        return tree.clone()
    if isinstance(tree, list | tuple):
        return [copied(item) for item in tree]
    if isinstance(tree, dict):
        return {key: copied(item) for key, item in tree.items()}
    return tree
