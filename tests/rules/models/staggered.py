"""A gate and two experts, of which one waits for the gate so as not to run beside it."""

from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.shared, self.routed = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        scores = self.gate(x)
        shared_out = self.shared(x)
        out = self.routed(x) * scores
        return out + shared_out
