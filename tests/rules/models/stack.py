"""Layers that are called one by one, of two classes, and a layer that is called twice."""

import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(8, 8)

    def forward(self, x):
        return torch.relu(self.up(x))


class Other(nn.Module):
    def forward(self, x):
        return torch.sigmoid(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Layer(), Layer()])
        self.mixed = nn.ModuleList([Layer(), Other()])
        self.again = Layer()

    def forward(self, x):
        for layer in [*self.layers, *self.mixed]:
            x = layer(x)
        return self.again(self.again(x))
