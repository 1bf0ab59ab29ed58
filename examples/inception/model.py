"""An Inception block: four branches of convolutions over one input, concatenated."""

import torch
import torch.nn.functional as F
from torch import nn


class ConvUnit(nn.Module):
    def __init__(self, inputs: int, outputs: int, kernel: int, padding: int = 0):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, padding=padding, bias=False)
        self.norm = nn.BatchNorm2d(outputs, eps=0.001)

    def forward(self, x):
        return F.relu(self.norm(self.conv(x)), inplace=True)


class Inception(nn.Module):
    def __init__(self):
        super().__init__()
        self.branch1 = ConvUnit(192, 64, 1)
        self.branch2 = nn.Sequential(ConvUnit(192, 96, 1), ConvUnit(96, 128, 3, padding=1))
        self.branch3 = nn.Sequential(ConvUnit(192, 16, 1), ConvUnit(16, 32, 3, padding=1))
        self.branch4 = nn.Sequential(nn.MaxPool2d(3, stride=1, padding=1), ConvUnit(192, 32, 1))

    def forward(self, x):
        branch1 = self.branch1(x)
        branch2 = self.branch2(x)
        branch3 = self.branch3(x)
        branch4 = self.branch4(x)
        branch3 += 1.0
        merged = torch.cat([branch1, branch2, branch3, branch4], 1)
        return merged, branch1.flatten(2).transpose(1, 2)
