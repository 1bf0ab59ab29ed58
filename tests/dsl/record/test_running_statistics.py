"""Statistics that a normalisation updates on one stream and that another reads."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from audits import Auditor

X = "x: f32[2, 8, 4]"


def model(normalise: str, join: str = "pass") -> str:
    return f"""
import torch
import torch.nn.functional as F

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()
        self.register_buffer("mean", torch.zeros(8))
        self.register_buffer("var", torch.ones(8))

    def forward(self, x):
        main = torch.cuda.current_stream()
        self.side.wait_stream(main)
        with torch.cuda.stream(self.side):
            y = {normalise}
        {join}
        z = self.mean * 2
        main.wait_stream(self.side)
        y.record_stream(main)
        return y.sum() + z
"""


@pytest.mark.parametrize("fake", [False, True])
@pytest.mark.parametrize(
    "normalise",
    [
        "F.batch_norm(x, self.mean, self.var, training=True)",
        "F.instance_norm(x, self.mean, self.var, use_input_stats=True)",
        "torch.ops.aten.native_batch_norm(x, None, None, self.mean, self.var, True, 0.1, 1e-5)[0]",
    ],
)
def test_an_update_is_a_write(found: Auditor, normalise: str, fake: bool) -> None:
    findings = found(model(normalise), X, fake=fake)
    assert [(each.code, each.at) for each in findings] == [("ORD101", "z = self.mean * 2")]
    assert "(RAW)" in findings[0].message
    assert not found(model(normalise, join="main.wait_stream(self.side)"), X, fake=fake)


@pytest.mark.parametrize(
    "normalise",
    [
        "F.batch_norm(x, self.mean, self.var, training=False)",
        "F.instance_norm(x, self.mean, self.var, use_input_stats=False)",
    ],
)
def test_statistics_that_are_only_read_are_not_written(found: Auditor, normalise: str) -> None:
    assert not found(model(normalise), X)
