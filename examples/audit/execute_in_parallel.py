"""Two functions in parallel on the current and an auxiliary stream, as TensorRT-LLM runs them, with a pair of events.

streamsched audit "execute_in_parallel.py:build" --input "hidden: bf16[16, 128]"
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import nn

A = TypeVar("A")
B = TypeVar("B")


def maybe_execute_in_parallel(
    fn0: Callable[[], A],
    fn1: Callable[[], B],
    event0: torch.cuda.Event,
    event1: torch.cuda.Event,
    aux_stream: torch.cuda.Stream | None = None,
) -> tuple[A, B]:
    """Call both, `fn1` on the auxiliary stream where there is one; both results are there behind it."""
    if aux_stream is None:
        return fn0(), fn1()
    event0.record()
    result0 = fn0()
    with torch.cuda.stream(aux_stream):
        event0.wait()
        result1 = fn1()
        event1.record()
    event1.wait()
    return result0, result1


class LatentAttention(nn.Module):
    """The projections of multi-head latent attention: query and compressed key go separate ways."""

    def __init__(self, hidden: int = 128, rank: int = 64, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.kv_a_proj = nn.Linear(hidden, 2 * rank, bias=False)
        self.q_norm, self.kv_norm = nn.RMSNorm(rank), nn.RMSNorm(rank)
        self.q_b_proj = nn.Linear(rank, hidden, bias=False)
        self.kv_b_proj = nn.Linear(rank, 2 * hidden, bias=False)
        self.gate_proj, self.o_proj = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)
        self.aux_stream = torch.cuda.Stream()
        self.events = [torch.cuda.Event() for _ in range(4)]

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        compressed_q, compressed_kv = self.kv_a_proj(hidden).chunk(2, dim=-1)
        q, kv = maybe_execute_in_parallel(
            lambda: self.q_b_proj(self.q_norm(compressed_q)),
            lambda: self.kv_b_proj(self.kv_norm(compressed_kv)),
            *self.events[:2],
            self.aux_stream,
        )
        k, v = kv.chunk(2, dim=-1)
        q, k, v = (x.view(-1, self.heads, x.shape[-1] // self.heads).transpose(0, 1) for x in (q, k, v))
        attended, gate = maybe_execute_in_parallel(
            lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True),
            lambda: self.gate_proj(hidden).sigmoid(),
            *self.events[2:],
            self.aux_stream,
        )
        return self.o_proj(attended.transpose(0, 1).reshape(hidden.shape) * gate)


def build() -> nn.Module:
    return LatentAttention().to(torch.bfloat16)
