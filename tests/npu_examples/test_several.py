"""Two schedules for one model, from the command line, in one graph on the simulated NPU."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from streamsched.cli.main import main
from streamsched.npu_sim import build

MODEL = """
import torch
from torch import nn

class Product(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        left = self.left(x)
        right = self.right(x)
        return left * right

class Sum(Product):
    def forward(self, x):
        left = self.left(x)
        right = self.right(x)
        return left + right

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(Product(), Sum()) for _ in range(2))

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return x
"""


def test_two_schedules_run_in_one_graph(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    if build.wheel_problem() is not None or shutil.which("g++") is None:
        pytest.skip("no simulated NPU")
    (tmp_path / "model.py").write_text(MODEL)
    paths = [str(tmp_path / f"{name}.sched") for name in ("product", "sum")]
    for place, path in enumerate(paths):
        head = f'schedule part_{place}\nmodel "model.py:Model"\nscope "layers.*.{place}"\ninput x: f32[8, 8]\n'
        Path(path).write_text(head + 'sync auto\nstream side\nvalue "right" on side\n')
    code = main(["verify", *paths, "--engine", "npugraph_ex", "--orders", "1", "--calls", "2"])
    out, err = capfd.readouterr()
    assert code == 0, out + err
    assert out.startswith("npugraph_ex: the generated forwards against the original on the simulated NPU")
