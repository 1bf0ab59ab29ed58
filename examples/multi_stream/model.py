"""The four-input model of npugraph_ex's multi-stream documentation, as one would write it with no stream in mind."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, in1, in2, in3, in4):
        add_result = torch.add(in1, in2)
        B = in3 + in4
        mm_result = torch.mm(B, in4)
        mm1 = torch.mm(in3, in4)
        add2 = torch.add(in3, in4)
        return add_result, mm1, mm_result, add2
