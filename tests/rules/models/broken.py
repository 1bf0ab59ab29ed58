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
