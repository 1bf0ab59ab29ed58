"""Query and key are normalised on two streams, as SGLang does it with an alternate stream that layers share.

    streamsched audit "alternate_stream.py:build" --input "positions: i64[16]" --input "hidden: bf16[16, 128]" \
        --fakes fakes.py

The norm is an operator of an extension that need not be installed: fakes.py declares it.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class RMSNorm(nn.Module):
    """A norm by the extension's kernel."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        torch.ops._C.rms_norm(out, x, self.weight, 1e-6)
        return out


class Attention(nn.Module):
    """Self-attention with norms of query and key."""

    def __init__(self, hidden: int, heads: int, alt_stream: torch.cuda.Stream | None) -> None:
        super().__init__()
        self.heads, self.head_dim = heads, hidden // heads
        self.qkv_proj = nn.Linear(hidden, 3 * hidden, bias=False)
        self.o_proj = nn.Linear(hidden, hidden, bias=False)
        self.q_norm, self.k_norm = RMSNorm(self.head_dim), RMSNorm(self.head_dim)
        self.alt_stream = alt_stream

    def apply_qk_norm(self, q: torch.Tensor, k: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        q_by_head, k_by_head = (x.reshape(-1, self.head_dim) for x in (q, k))
        if self.alt_stream is None:
            return self.q_norm(q_by_head).view(q.shape), self.k_norm(k_by_head).view(k.shape)
        current_stream = torch.cuda.current_stream()
        self.alt_stream.wait_stream(current_stream)
        q_by_head = self.q_norm(q_by_head)
        with torch.cuda.stream(self.alt_stream):
            k_by_head = self.k_norm(k_by_head)
        current_stream.wait_stream(self.alt_stream)
        return q_by_head.view(q.shape), k_by_head.view(k.shape)

    def forward(self, positions: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv_proj(hidden).chunk(3, dim=-1)
        q, k = self.apply_qk_norm(q, k)
        mask = positions[:, None] >= positions[None, :]
        q, k, v = (x.view(-1, self.heads, self.head_dim).transpose(0, 1) for x in (q, k, v))
        attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.o_proj(attended.transpose(0, 1).reshape(hidden.shape))


class Model(nn.Module):
    """Two layers with one alternate stream."""

    def __init__(self, hidden: int = 128, heads: int = 4, layers: int = 2) -> None:
        super().__init__()
        alt_stream = torch.cuda.Stream() if torch.cuda.is_available() else None
        self.layers = nn.ModuleList(Attention(hidden, heads, alt_stream) for _ in range(layers))

    def forward(self, positions: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            hidden = hidden + layer(positions, hidden)
        return hidden


def build() -> nn.Module:
    return Model().to(torch.bfloat16)
