"""Models that communicate, each in its own way."""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
from torch import nn


class Sum(nn.Module):
    def __init__(self):
        super().__init__()
        self.tp_group = dist.new_group([0, 1])

    def forward(self, x):
        y = funcol.all_reduce(torch.relu(x), "sum", self.tp_group)
        return y + x


class Handle(nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        handle = dist.all_reduce(y, async_op=True)
        z = x * 2
        handle.wait()
        return y + z


class Broadcast(nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        dist.broadcast(y, 0)
        return y


class OfNobody(nn.Module):
    def __init__(self):
        super().__init__()
        GROUPS.append(dist.new_group([0, 1]))

    def forward(self, x):
        return funcol.all_reduce(x, "sum", GROUPS[-1]) + 1


class Unawaited(nn.Module):
    def __init__(self):
        super().__init__()
        self.tp_group = dist.new_group([0, 1])

    def forward(self, x):
        y = torch.ops._c10d_functional.all_reduce(torch.relu(x), "sum", self.tp_group.group_name)
        return y + x


GROUPS = []
