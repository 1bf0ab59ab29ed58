"""Evaluates expressions from a file on the CPU and on the simulated NPU; prints one JSON line for each."""

import json
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
import torch_npu

from streamsched.npu_sim import control

TOLERANCE = {torch.float16: 4e-3, torch.bfloat16: 3e-2, torch.float32: 2e-5}


def put(target, index, value):
    target[index] = value
    return target


def topk_normalized(scores):
    chosen = torch.topk(scores, 2)[0]
    return chosen / chosen.sum(-1, keepdim=True)


def dequant_swiglu(x, weight_scale, token_scale):
    left, right = (x.float() * weight_scale * token_scale).chunk(2, -1)
    return F.silu(left) * right


def names(device):
    generator = torch.Generator().manual_seed(7)

    def draw(*shape):
        return torch.randn(*shape, generator=generator)

    a, b = draw(4, 6), draw(4, 6)
    i = torch.randint(0, 9, (4, 6), generator=generator)
    made = {
        "a": a, "b": b, "p": a.abs() + 0.1, "m": draw(6, 5), "v": draw(6), "x3": draw(2, 4, 6), "y3": draw(2, 6, 5),
        "i": i, "j": i.int(), "t": b > 0, "h": a.half(), "g": b.half(), "bf": a.bfloat16(),
        "idx": torch.tensor([2, 0, 3]), "img": draw(2, 4, 8, 8), "w": draw(6, 4, 3, 3),
        "q": torch.randint(-128, 128, (4, 32), generator=generator, dtype=torch.int8), "w3": draw(2, 6, 5),
        "sc": draw(1, 32).abs(), "ends": torch.tensor([1, 4]),
    }  # fmt: skip
    placed = {name: tensor.to(device) for name, tensor in made.items()}
    made_of = {name: getattr(torch_npu, name) for name in dir(torch_npu) if name.startswith("npu_")}
    scope = {**placed, **made_of, "torch": torch, "F": F, "put": put, "topk_normalized": topk_normalized}
    scope["dequant_swiglu"] = dequant_swiglu
    scope["npu_only"] = lambda fused, written_out: eval(fused if device == "npu" else written_out, scope)
    return scope


def flatten(value):
    return [part for item in value for part in flatten(item)] if isinstance(value, (tuple, list)) else [value]


def difference(got, want):
    """Why the two are not equal, or an empty string."""
    if not isinstance(want, torch.Tensor):
        return "" if got == want else f"{got} instead of {want}"
    got = got.cpu()
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype} {tuple(got.shape)} instead of {want.dtype} {tuple(want.shape)}"
    tolerance = TOLERANCE.get(want.dtype, 0)
    if torch.allclose(got.double(), want.double(), rtol=tolerance, atol=tolerance, equal_nan=True):
        return ""
    return f"differs by {(got.double() - want.double()).abs().max().item()}"


def evaluate(expression):
    control.clear_error()
    try:
        got = flatten(eval(expression, names("npu")))
        torch.npu.synchronize()
        want = flatten(eval(expression, names("cpu")))
        return next(filter(None, map(difference, got, want)), "")
    except Exception as error:
        return f"{type(error).__name__}: {error}"


for line in Path(sys.argv[1]).read_text().splitlines():
    if line and not line.startswith("#"):
        print("RESULT", json.dumps([line, evaluate(line)]), flush=True)
