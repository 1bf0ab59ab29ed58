"""DLRM, a recommender: bags of sparse features beside an MLP over the dense ones, then their pairwise products."""

from itertools import pairwise

import torch
from torch import nn


def mlp(*widths: int) -> nn.Sequential:
    layers = ((nn.Linear(wide, narrow), nn.ReLU()) for wide, narrow in pairwise(widths))
    return nn.Sequential(*(layer for pair in layers for layer in pair))


class SparseFeatures(nn.Module):
    def __init__(self, rows: list[int], width: int):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(count, width, mode="sum") for count in rows)

    def forward(self, indices):
        return [bag(indices[table]) for table, bag in enumerate(self.bags)]


class DLRM(nn.Module):
    def __init__(self, dense: int, rows: list[int], width: int):
        super().__init__()
        self.sparse = SparseFeatures(rows, width)
        self.bottom = mlp(dense, 8 * width, 4 * width, width)
        features = len(rows) + 1
        self.top = mlp(width + features * (features - 1) // 2, 8 * width, 1)
        lower = torch.tril_indices(features, features, offset=-1)
        self.register_buffer("rows", lower[0].clone(), persistent=False)
        self.register_buffer("columns", lower[1].clone(), persistent=False)

    def forward(self, dense, indices):
        bags = self.sparse(indices)
        x = self.bottom(dense)
        stacked = torch.stack([x, *bags], 1)
        products = torch.bmm(stacked, stacked.transpose(1, 2))
        crossed = products[:, self.rows, self.columns]
        return torch.sigmoid(self.top(torch.cat([x, crossed], 1)))


def build():
    return DLRM(13, [10_000, 4_000, 70_000, 20_000, 1_000, 3_000, 90_000, 600], 64)


def tiny():
    return DLRM(13, [40, 45, 50], 16)
