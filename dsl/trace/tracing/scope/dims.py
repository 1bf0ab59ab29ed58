"""The dynamic dims of modules in scope: the sizes in their calls that change with the sizes of the model's inputs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import torch
import torch.utils._pytree as pytree

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.trace.request import InputTensor
from streamsched.dsl.trace.tracing.dims.symbols import Dims
from streamsched.dsl.trace.tracing.scope.capture import Call

_OTHER = 23
"""Where the sizes of the second run begin."""


def dims_of_calls(
    inputs: tuple[InputTensor, ...], calls: list[Call], again: Callable[[Dims], list[Call] | Diagnostic]
) -> Dims | Diagnostic:
    """The dynamic dims of `calls`, which one run of the model with `inputs` made.

    `again` runs it with other sizes: what changes is dynamic. A size that is one of the request's keeps its name; a
    product of them is `batch_seq`, anything else `size_1`.
    """
    first, second = Dims.of(inputs), Dims.of(inputs, _OTHER)
    if not first.sizes:
        return first
    others = again(second)
    if isinstance(others, Diagnostic):
        return others
    sizes = dict(first.sizes)
    for before, after in dict.fromkeys(_changing(calls, others)):
        if before not in sizes.values():
            sizes[_name(before, after, first, second, sizes)] = before
    return Dims(sizes)


def _changing(calls: list[Call], others: list[Call]) -> Iterator[tuple[int, int]]:
    """The sizes in the inputs of calls that are others in the second run."""
    for call, other in zip(calls, others, strict=False):
        leaves = zip(_tensors(call), _tensors(other), strict=False)
        for before, after in leaves:
            yield from ((a, b) for a, b in zip(before.shape, after.shape, strict=False) if a != b)


def _tensors(call: Call) -> list[torch.Tensor]:
    leaves = pytree.tree_leaves((call.inputs.args, call.inputs.kwargs))
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def _name(before: int, after: int, first: Dims, second: Dims, taken: dict[str, int]) -> str:
    for count in range(2, len(first.sizes) + 1):
        for names in itertools.combinations(first.sizes, count):
            products = (math.prod(dims.sizes[name] for name in names) for dims in (first, second))
            if tuple(products) == (before, after) and "_".join(names) not in taken:
                return "_".join(names)
    return next(name for number in itertools.count(1) if (name := f"size_{number}") not in taken)
