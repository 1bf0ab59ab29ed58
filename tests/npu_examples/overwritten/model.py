"""One tensor that is written, read, and written twice more: a RAW, a WAR and a WAW dependency in a row."""

from torch import nn


class Model(nn.Module):
    def forward(self, x):
        shared = x + 1.0
        doubled = shared * 2.0
        shared.add_(3.0)
        shared.zero_()
        return doubled, shared
