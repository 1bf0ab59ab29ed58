"""Constants that forward() makes, as expressions."""

from __future__ import annotations

from typing import Any

import torch

from streamsched.dsl.trace.tracing.arguments import literal

_LARGEST = 256
"""Elements of the largest constant that is written out: more would not be readable."""

_INFERRED = {torch.float32: "float", torch.int64: "int", torch.bool: "bool"}


def has_values(tensor: torch.Tensor) -> bool:
    """Whether a constant's data is known."""
    return type(tensor) is torch.Tensor and tensor.device.type == "cpu"


def expression(tensor: torch.Tensor) -> str | None:
    """`torch.tensor(...)` for a constant; None where its values are not known or too many.

    Only an empty one names a device, `'meta'` for the device that the model runs on.
    """
    if tensor.numel() == 0:
        device = "" if tensor.device.type == "cpu" else f", device={str(tensor.device)!r}"
        return f"torch.empty({tuple(tensor.shape)}, dtype={tensor.dtype}{device})"
    if not has_values(tensor) or tensor.numel() > _LARGEST:
        return None
    dtype = "" if tensor.dtype in _INFERRED else f", dtype={tensor.dtype}"
    return f"torch.tensor({_spell(tensor.tolist())}{dtype})"


def _spell(data: Any) -> str:
    if isinstance(data, list):
        return f"[{', '.join(map(_spell, data))}]"
    return str(literal(data))
