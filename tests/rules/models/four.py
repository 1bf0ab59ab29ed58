"""Four products and sums of four inputs, of which most may run at once."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, in1, in2, in3, in4):
        total = in1 + in2
        b = in3 + in4
        left = torch.mm(b, in4)
        right = torch.mm(in3, in4)
        last = left + right
        return total, last
