"""Shared experts on an auxiliary stream beside the routed ones, for few tokens only, as vLLM runs them.

    streamsched audit "shared_experts.py:build" --input "hidden: bf16[64, 128]"

The activation is a Triton kernel, which declares what it reads and writes.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import nn

from streamsched.dsl.audit import kernel

TOKEN_THRESHOLD = 256
"""With more tokens a single kernel fills the device, and a second stream gains nothing."""


@kernel(reads=("gate_up",), writes=("out",))
@triton.jit
def silu_and_mul_kernel(gate_up, out, width, BLOCK: tl.constexpr):
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    mask = columns < width
    gate = tl.load(gate_up + row * 2 * width + columns, mask=mask).to(tl.float32)
    up = tl.load(gate_up + row * 2 * width + width + columns, mask=mask)
    tl.store(out + row * width + columns, gate * tl.sigmoid(gate) * up, mask=mask)


class Expert(nn.Module):
    """A gated MLP."""

    def __init__(self, hidden: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.gate_up_proj = nn.Linear(hidden, 2 * width, bias=False)
        self.down_proj = nn.Linear(width, hidden, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate_up = self.gate_up_proj(x)
        out = torch.empty(x.shape[0], self.width, dtype=x.dtype, device=x.device)
        silu_and_mul_kernel[(x.shape[0],)](gate_up, out, self.width, BLOCK=128)
        return self.down_proj(out)


class SharedFusedMoE(nn.Module):
    """Routed experts, which work in place on their input, and a shared one."""

    def __init__(self, hidden: int = 128, width: int = 64, experts: int = 4) -> None:
        super().__init__()
        self.gate = nn.Linear(hidden, experts, bias=False)
        self.experts = nn.ModuleList(Expert(hidden, width) for _ in range(experts))
        self.shared_experts = Expert(hidden, width)
        self.aux_stream = torch.cuda.Stream() if torch.cuda.is_available() else None

    def start_shared_experts(self, hidden: torch.Tensor) -> torch.Tensor:
        """Launch the shared expert on the auxiliary stream; its result is there when that is waited for."""
        copy = hidden.clone()  # the routed experts write `hidden`
        copy.record_stream(self.aux_stream)
        self.aux_stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.aux_stream):
            return self.shared_experts(copy)

    def routed_experts(self, hidden: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        weights = logits.softmax(dim=-1)
        routed = torch.zeros_like(hidden)
        for index, expert in enumerate(self.experts):
            routed += expert(hidden) * weights[:, index : index + 1]
        return hidden.copy_(routed)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        overlap = self.aux_stream is not None and hidden.shape[0] <= TOKEN_THRESHOLD
        shared = self.start_shared_experts(hidden) if overlap else self.shared_experts(hidden)
        routed = self.routed_experts(hidden, self.gate(hidden))
        if overlap:
            torch.cuda.current_stream().wait_stream(self.aux_stream)
        return routed + shared


def build() -> nn.Module:
    return SharedFusedMoE().to(torch.bfloat16)
