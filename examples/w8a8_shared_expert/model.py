"""A W8A8 shared expert beside the dispatch and combine of the routed experts.

The shared expert quantises each token, multiplies in int8, applies SwiGLU, quantises again and multiplies again.
Dispatch and combine stand for the communication of expert parallelism: permutations of the tokens, which keep the
vector cores and the memory busy, as the expert's matrix products keep the cube cores.
"""

import torch
import torch_npu
from torch import nn


class QuantLinear(nn.Module):
    """A linear layer with int8 weights and a scale for each output channel; activations are quantised per token."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.register_buffer("weight", torch.zeros(inputs, outputs, dtype=torch.int8))
        self.register_buffer("scale", torch.ones(outputs, dtype=torch.bfloat16))

    def forward(self, quantised, token_scale):
        return torch_npu.npu_quant_matmul(
            quantised, self.weight, self.scale, pertoken_scale=token_scale, output_dtype=torch.bfloat16
        )


class W8A8Block(nn.Module):
    def __init__(self, hidden: int, intermediate: int):
        super().__init__()
        self.gate_up = QuantLinear(hidden, 2 * intermediate)
        self.down = QuantLinear(intermediate, hidden)
        self.expert = nn.Linear(hidden, hidden, bias=False, dtype=torch.bfloat16)

    def forward(self, hidden_states, order):
        dispatched = hidden_states.index_select(0, order)
        routed = self.expert(dispatched)
        combined = torch.zeros_like(routed).index_add(0, order, routed)
        quantised, scale = torch_npu.npu_dynamic_quant(hidden_states)
        gate_up = self.gate_up(quantised, scale)
        activated = torch_npu.npu_swiglu(gate_up)
        requantised, rescale = torch_npu.npu_dynamic_quant(activated)
        shared = self.down(requantised, rescale)
        return combined + shared


def build():
    return W8A8Block(7168, 2048)


def tiny():
    return W8A8Block(64, 32)
