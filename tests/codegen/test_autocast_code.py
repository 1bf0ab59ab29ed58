"""Regions of `torch.autocast` are entered in generated code, on whatever device they are for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from modelled import plan_model

from streamsched.codegen.emitter import generate
from streamsched.verify.generated import load_generated

MODEL = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        h = x * 2
        with torch.autocast({}):
            y = self.up(h)
            z = torch.softmax(y @ y.T, -1)
        w = (z @ y).to(x.device, torch.float32)
        return self.down(w), z
"""


@pytest.mark.parametrize(
    ("region", "printed"),
    [
        ("'cpu', dtype=torch.bfloat16", '"cpu", dtype=torch.bfloat16'),
        ("'npu', dtype=torch.float16", '"npu", dtype=torch.float16'),
        ("'cuda', torch.bfloat16", '"cuda", dtype=torch.bfloat16'),
        ("x.device.type, torch.bfloat16", "x.device.type, dtype=torch.bfloat16"),
    ],
)
def test_the_region_is_printed(tmp_path: Path, region: str, printed: str) -> None:
    text = generate(plan_model(tmp_path, MODEL.format(region), "input x: f32[2, 8]\ntarget cpu\n"), "cpu")
    flat = " ".join(text.split()).replace("( ", "(")
    assert f"with torch.autocast({printed}, enabled=True" in flat, text
    assert "torch.float32)" in flat, "the dtype of the trace is not what is there"


@pytest.mark.parametrize("region", ["'cpu', dtype=torch.bfloat16", "x.device.type, torch.bfloat16"])
@pytest.mark.parametrize("compiled", [False, True])
def test_numbers_are_those_of_the_original(tmp_path: Path, region: str, compiled: bool) -> None:
    schedule = 'input x: f32[2, 8]\ntarget cpu\nstream side\nvalue "z" on side\nsync auto\n'
    program = plan_model(tmp_path, MODEL.format(region), schedule)
    source: dict[str, Any] = {}
    exec((tmp_path / "model.py").read_text(), source)
    torch.manual_seed(0)
    original, scheduled = source["Model"]().eval(), source["Model"]().eval()
    scheduled.load_state_dict(original.state_dict())
    load_generated(generate(program, "cpu"))["apply"](scheduled, strict=True)
    run = torch.compile(scheduled, fullgraph=True, backend="eager") if compiled else scheduled
    x = torch.randn(2, 8)
    with torch.no_grad():
        for found, wanted in zip(run(x), original(x), strict=True):
            assert found.dtype == wanted.dtype and torch.equal(found, wanted)
        assert original(x)[1].dtype is torch.bfloat16


def test_a_disabled_region_inside_is_for_the_same_device(tmp_path: Path) -> None:
    body = MODEL.format("'npu', dtype=torch.float16")
    body = body.replace("z = torch.softmax", "with torch.autocast('npu', enabled=False): z = torch.softmax")
    text = generate(plan_model(tmp_path, body, "input x: f32[2, 8]\ntarget cpu\n"), "cpu").split("def apply")[0]
    assert text.count('torch.autocast("npu"') + text.count('"npu",') >= 2 and '"cpu"' not in text, text
    assert "enabled=False" in text


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_tensor_beside_its_own_cast(tmp_path: Path, dtype: str) -> None:
    """One of both casts does nothing on the device, the other nothing in the trace."""
    body = f"with torch.autocast('cpu', dtype=torch.bfloat16): y = x @ x\n        z = y.to(torch.{dtype})"
    source = f"class Model(nn.Module):\n    def forward(self, x):\n        {body}\n        return y * 3, y, z * 2, z\n"
    schedule = 'input x: f32[4, 4]\ntarget cpu\nstream side\nvalue "z" on side\nsync auto\n'
    program = plan_model(tmp_path, source, schedule)
    namespace: dict[str, Any] = {}
    exec((tmp_path / "model.py").read_text(), namespace)
    original, scheduled = namespace["Model"]().eval(), namespace["Model"]().eval()
    load_generated(generate(program, "cpu"))["apply"](scheduled, strict=True)
    x = torch.randn(4, 4)
    for found, wanted in zip(scheduled(x), original(x), strict=True):
        assert found.dtype == wanted.dtype and torch.equal(found, wanted)
