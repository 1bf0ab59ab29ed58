"""A model of modules, with views, a random op and an input that comes back as a view."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(64, 64)
        self.mlp = nn.Linear(64, 64)

    def forward(self, x):
        g = self.gate(x)
        h = self.mlp(g)
        heads = h.view(8, 8, 64)
        noisy = nn.functional.dropout(torch.relu(x), 0.1, training=True)
        out = heads.sum(1)
        return out, noisy
