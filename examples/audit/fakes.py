"""What `streamsched audit --fakes fakes.py` imports first: an operator of an extension that is not installed."""

from __future__ import annotations

import torch


@torch.library.custom_op("_C::rms_norm", mutates_args=("out",))
def rms_norm(out: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, epsilon: float) -> None:
    out.copy_(torch.nn.functional.rms_norm(x, weight.shape, weight, epsilon))


@rms_norm.register_fake
def _(out: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, epsilon: float) -> None:
    return None
