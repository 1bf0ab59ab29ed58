"""A program that forgets a wait, and knows nothing of the simulated NPU."""

import torch
import torch_npu  # noqa: F401

x, side = torch.ones(4).npu(), torch.npu.Stream()
norm = torch.nn.BatchNorm2d(2).npu()
torch.npu.synchronize()
y = x * 3
with torch.npu.stream(side):
    z = y + 1
torch.npu.synchronize()
print("RESULT", z.isnan().any().int().item())
norm(torch.ones(1, 2, 3, 3).npu())
norm.eval()(torch.ones(1, 2, 3, 3).npu())
torch.npu.synchronize()
