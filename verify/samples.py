"""Random values for inputs and parameters, the same for the same seed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch

from streamsched.dsl.trace.dims import evaluate_all
from streamsched.dsl.trace.model import Dim
from streamsched.verify.ranges import Range, unknown_input
from streamsched.verify.verdict import CannotRunError

LARGEST_INTEGER = 7
"""Integer inputs go up to this where nothing is known of them: few enough to index most things."""

Sample = tuple[torch.Tensor, ...]
"""What the tensors in the arguments of one call hold, left to right."""


@dataclass(frozen=True, slots=True)
class Input:
    """A tensor in the arguments of a call; an integer one holds values from `low` to `high`, or those of `given`.
    `shape` is an example of what `dims` may be."""

    name: str
    dtype: torch.dtype
    shape: tuple[int, ...]
    low: int = 0
    high: int = LARGEST_INTEGER
    dims: tuple[Dim, ...] = ()  # the shape with the names of dynamic dims; empty where it is fixed
    given: torch.Tensor | None = None

    @property
    def is_integer(self) -> bool:
        """Whether it holds integers, truth values left out."""
        return not (self.dtype.is_floating_point or self.dtype.is_complex or self.dtype is torch.bool)


def bounded(inputs: Sequence[Input], ranges: Iterable[Range]) -> tuple[Input, ...]:
    """The inputs with the user's ranges. Raises `CannotRunError` for a range that fits no input."""
    found = {entry.name: entry for entry in inputs}
    for given in ranges:
        if given.name not in found:
            raise CannotRunError(unknown_input(given.name, found))
        known = found[given.name]
        if not known.is_integer:
            kind = str(known.dtype).removeprefix("torch.")
            raise CannotRunError(f"--range: input `{given.name}` is {kind}; only integers are drawn from a range")
        limits = torch.iinfo(known.dtype)
        if given.low < limits.min or given.high > limits.max:
            fits = f"{limits.min}..{limits.max}"
            raise CannotRunError(f"--range: input `{given.name}` is {limits.dtype}, which holds {fits}")
        found[given.name] = dataclasses.replace(known, low=given.low, high=given.high, given=None)
    return tuple(found[entry.name] for entry in inputs)


def sample_inputs(inputs: Iterable[Input], seed: int, sizes: Mapping[str, int]) -> Sample:
    """Random values for `inputs` of such sizes."""
    generator = torch.Generator().manual_seed(seed)
    sized = (dataclasses.replace(e, shape=evaluate_all(e.dims, sizes)) if e.dims else e for e in inputs)
    return tuple(_sample(entry, generator) for entry in sized)


def _sample(entry: Input, generator: torch.Generator) -> torch.Tensor:
    if entry.dtype.is_complex:
        return torch.randn(entry.shape, dtype=torch.complex64, generator=generator).to(entry.dtype)
    if entry.dtype.is_floating_point:
        return torch.randn(entry.shape, generator=generator).to(entry.dtype)
    if entry.dtype is torch.bool:
        return torch.randint(0, 2, entry.shape, generator=generator).to(entry.dtype)
    if entry.given is not None:
        return entry.given.clone()
    high = min(entry.high + 1, 2**63 - 1)  # the upper end is left out, and 64 bits hold it
    return torch.randint(entry.low, high, entry.shape, generator=generator).to(entry.dtype)


def fill_parameters(model: torch.nn.Module, seed: int) -> None:
    """Give every floating-point parameter and buffer small positive random values.

    A model built from a configuration may hold memory that nothing has initialised, and a bias of zeros hides a lost
    sync; positive values keep variances valid.
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for tensor in [*model.parameters(), *model.buffers()]:
            if tensor.is_complex():
                tensor.copy_(torch.randn(tensor.shape, dtype=torch.complex64, generator=generator) * 0.5)
            elif tensor.is_floating_point():
                tensor.copy_(torch.rand(tensor.shape, generator=generator) * 0.5 + 0.01)
