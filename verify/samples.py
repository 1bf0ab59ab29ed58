"""Random values for inputs and parameters, the same for the same seed."""

from __future__ import annotations

import torch

from streamsched.dsl.trace.model import Trace, Value

LARGEST_INTEGER = 8
"""Integer inputs lie below this: they mostly index something, of which there must be as many."""


def sample_inputs(trace: Trace, seed: int) -> dict[int, torch.Tensor]:
    """Random inputs of the traced dtypes and shapes, by value."""
    generator = torch.Generator().manual_seed(seed)
    return {index: _sample(trace.values[index], generator) for index in trace.inputs}


def _sample(value: Value, generator: torch.Generator) -> torch.Tensor:
    dtype: torch.dtype = getattr(torch, value.dtype)
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(value.shape, generator=generator).to(dtype)
    largest = 2 if dtype is torch.bool else LARGEST_INTEGER
    return torch.randint(0, largest, value.shape, generator=generator).to(dtype)


def fill_parameters(model: torch.nn.Module, seed: int) -> None:
    """Give every floating-point parameter and buffer small positive random values.

    A model built from a configuration may hold memory that nothing has initialised, and a bias of zeros hides a lost
    sync; positive values keep variances valid.
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for tensor in [*model.parameters(), *model.buffers()]:
            if tensor.is_floating_point():
                tensor.copy_(torch.rand(tensor.shape, generator=generator) * 0.5 + 0.01)
