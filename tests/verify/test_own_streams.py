"""verify of the schedule of a model that uses streams by itself: on the CPU they do nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamsched.cli.main import main

MODEL = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(8, 8), nn.Linear(8, 8)
        self.side, self.ready = torch.cuda.Stream(), torch.cuda.Event()

    def forward(self, x):
        hidden = x * 2
        self.ready.record()
        with torch.cuda.stream(self.side):
            self.ready.wait()
            a = self.left(hidden)
            hidden.record_stream(self.side)
        b = self.right(hidden)
        torch.cuda.current_stream().wait_stream(self.side)
        return a + b
"""


def test_the_generated_forward_agrees_with_the_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(MODEL)
    assert main(["init", "--from", "model.py:Model", "--input", "x: f32[4, 8]", "-o", "own.sched"]) == 0
    assert "a on side\n" in Path("own.sched").read_text()
    assert main(["verify", "own.sched"]) == 0
    assert "all outputs agree" in capsys.readouterr().out
