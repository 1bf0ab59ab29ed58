"""A two-tower recommender: a user tower and an item tower that meet in a scaled dot product."""

import torch
from torch import nn


class Tower(nn.Module):
    def __init__(self, vocabulary: int, width: int):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.layers = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(inplace=True), nn.Linear(2 * width, width))
        self.norm = nn.LayerNorm(width)

    def forward(self, ids):
        features = self.embedding(ids).mean(1)
        return self.norm(self.layers(features))


class TwoTower(nn.Module):
    def __init__(self, users: int, items: int, width: int):
        super().__init__()
        self.user_tower = Tower(users, width)
        self.item_tower = Tower(items, width)
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, user_ids, item_ids):
        user = self.user_tower(user_ids)
        item = self.item_tower(item_ids)
        item /= item.norm(dim=-1, keepdim=True)
        scores = (user * item).sum(-1)
        scores.mul_(self.scale)
        return scores, user.view(user.shape[0], -1, 32)


def build():
    return TwoTower(100_000, 1_000_000, 256)


def tiny():
    return TwoTower(50, 70, 256)
