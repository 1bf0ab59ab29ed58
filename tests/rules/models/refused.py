"""Models whose parts, casts and sizes keep them from being traced, and what can be traced in their place."""

from dataclasses import dataclass

import torch
from torch import nn
from torch._higher_order_ops.while_loop import while_loop


class Search(nn.Module):
    def forward(self, x):
        (y,) = while_loop(lambda x: x.sum() < 9, lambda x: (x * 2,), (x,))
        return y


class Searching(nn.Module):
    def __init__(self):
        super().__init__()
        self.search = Search()

    def forward(self, x):
        return self.search(x) + 1


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(8, 8)

    def forward(self, x):
        for row in (x.sum(-1) > 0).nonzero():
            x = x.index_add(0, row, self.up(x[row]))
        return x


class Routed(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = Experts()

    def forward(self, x):
        return self.experts(x) + 1


@dataclass
class Settings:
    causal: bool


class Attention(nn.Module):
    def forward(self, x, settings=None, causal=False):
        return x.tril() if causal or settings.causal else x


class WithSettings(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()

    def forward(self, x):
        return self.attention(x, Settings(causal=True))


class WithFlag(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()

    def forward(self, x):
        return self.attention(x, causal=True)


class Halves(nn.Module):
    def forward(self, x):
        return x.view(x.shape[0], x.shape[1] // 2, 2).sum(-1)


class Casts(nn.Module):
    def forward(self, x):
        with torch.autocast("npu", dtype=torch.float16):
            y = torch.mm(x, x)
        return torch.softmax(y, -1, dtype=torch.float32).to(y.dtype)


class CastsByName(nn.Module):
    def forward(self, x):
        with torch.autocast("npu", dtype=torch.float16):
            y = torch.mm(x, x)
        return torch.softmax(y, -1, dtype=torch.float32).to(torch.float16)


class Casting(nn.Module):
    def forward(self, x):
        y = torch.mm(x.to(torch.float16), x.to(torch.float16))
        return torch.softmax(y, -1, dtype=torch.float32).to(torch.float16)


class Fused(nn.Module):
    def forward(self, x):
        if torch.compiler.is_compiling():
            return x + x
        return torch.mul(x, 2)


class Asks(nn.Module):
    def forward(self, x):
        if x.device.type == "npu":
            return torch.addmm(x, x, x)
        return x + torch.mm(x, x)


class Decided(nn.Module):
    def __init__(self):
        super().__init__()
        self.fused = True

    def forward(self, x):
        if self.fused:
            return torch.addmm(x, x, x)
        return x + torch.mm(x, x)
