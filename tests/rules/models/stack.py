"""Layers that are called one by one, of two classes, a layer that is called twice, and one that never is."""

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


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Layer(), Layer(), Other()])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Spare(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Layer(), Layer(), Layer()])

    def forward(self, x):
        return self.layers[1](self.layers[0](x))
