"""Models that cannot be traced, each in its own way, and one that can."""

import torch
from torch import nn

NUMBER = 3


class Good(nn.Module):
    def forward(self, x):
        return torch.relu(x) + 1


class Raises(nn.Module):
    def __init__(self):
        super().__init__()
        raise ValueError("no weights here")


class ForwardRaises(nn.Module):
    def forward(self, x):
        raise ValueError("no luck")


class Branches(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            x = x * 2
        return torch.relu(x)


class Table(nn.Module):
    def forward(self, x):
        return x + torch.tensor([0.5] * 20_000, device=x.device)[:8]


class Assigns(nn.Module):
    def forward(self, x):
        self.last = x * 2
        return x + 1


class NamedResult(nn.Module):
    def forward(self, x):
        return x.max(-1)


class Weighted(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(8, 8))

    def forward(self, x):
        return x @ self.w


class Ranked(nn.Module):
    def forward(self, x):
        return x + torch.distributed.get_rank()
