"""The sizes of dynamic dims in the calls of a verification."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping

import torch

from streamsched.dsl.program.steps import Program
from streamsched.dsl.trace.model import NamedDim, Trace

_LARGEST = 12
"""Dims are at most this large, unless the trace holds for larger ones only."""


def sample_sizes(names: Iterable[str], dims: Iterable[NamedDim], seed: int) -> dict[str, int]:
    """Random sizes for the dims `names`, within the bounds of `dims`; the smallest for seed 0."""
    choose = random.Random(seed)
    given = list(dims)
    sizes: dict[str, int] = {}
    for name in names:
        minimum = max((dim.minimum for dim in given if dim.name == name), default=2)
        most = [dim.maximum for dim in given if dim.name == name and dim.maximum is not None]
        largest = min(max(_LARGEST, minimum + 4), *most) if most else max(_LARGEST, minimum + 4)
        sizes[name] = choose.randint(minimum, max(minimum, largest)) if seed else minimum
    return sizes


def dims_of(programs: Iterable[Program]) -> tuple[NamedDim, ...]:
    """The dynamic dims of the traces under programs."""
    return tuple(dim for program in programs if program.trace is not None for dim in program.trace.dims)


def sizes_of(trace: Trace, inputs: Mapping[int, torch.Tensor]) -> dict[str, int]:
    """The sizes of the dynamic dims in a call with `inputs`, by value."""
    found: dict[str, int] = {}
    for index in trace.inputs:
        shape = trace.values[index].shape
        found.update((dim, size) for dim, size in zip(shape, inputs[index].shape, strict=True) if isinstance(dim, str))
    return found
