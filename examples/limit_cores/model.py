"""The model of npugraph_ex's core-limit documentation: two products that could run beside each other."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, in1, in2, in3, in4):
        mm_result = torch.mm(in3, in4)
        add_result = torch.add(in1, in2)
        mm1 = torch.mm(in4, in3)
        return add_result, mm_result, mm1
