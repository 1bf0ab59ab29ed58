"""A tensor-parallel mixture of experts: each rank computes its shard of every expert, and the ranks' parts are summed.

The shared expert is whole on every rank, so that its result needs no sum.
"""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
import torch.nn.functional as F
from torch import nn


class RoutedExperts(nn.Module):
    def __init__(self, hidden, shard, experts, top_k):
        super().__init__()
        self.top_k = top_k
        self.router = nn.Linear(hidden, experts, bias=False)
        self.gate_up = nn.Parameter(torch.empty(experts, hidden, 2 * shard))
        self.down = nn.Parameter(torch.empty(experts, shard, hidden))

    def forward(self, x):
        scores, chosen = torch.topk(torch.softmax(self.router(x), -1), self.top_k)
        gate, up = torch.matmul(x[:, None, None], self.gate_up[chosen]).chunk(2, -1)
        parts = torch.matmul(F.silu(gate) * up, self.down[chosen])
        return (parts.squeeze(2) * scores.unsqueeze(-1)).sum(1)


class SharedExpert(nn.Module):
    def __init__(self, hidden, intermediate):
        super().__init__()
        self.gate_up = nn.Linear(hidden, 2 * intermediate, bias=False)
        self.down = nn.Linear(intermediate, hidden, bias=False)

    def forward(self, x):
        gate, up = self.gate_up(x).chunk(2, -1)
        return self.down(F.silu(gate) * up)


class TensorParallelMoE(nn.Module):
    def __init__(self, hidden, shard, intermediate, experts, top_k):
        super().__init__()
        self.tp_group = dist.group.WORLD
        self.experts = RoutedExperts(hidden, shard, experts, top_k)
        self.shared_expert = SharedExpert(hidden, intermediate)

    def forward(self, hidden_states):
        routed = self.experts(hidden_states)
        routed = funcol.all_reduce(routed, "sum", self.tp_group)
        shared = self.shared_expert(hidden_states)
        return routed + shared


def build():
    return _block(hidden=2048, shard=352, intermediate=1408, experts=64, top_k=6)


def tiny():
    return _block(hidden=64, shard=16, intermediate=32, experts=8, top_k=2)


def _block(**sizes):
    if not dist.is_initialized():
        # Alone, where no launcher has made a group: the sum is then this rank's own part.
        dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    return TensorParallelMoE(**sizes).bfloat16()
