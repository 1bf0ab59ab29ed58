"""verify of a model with dynamic dims: each call has other sizes, within the bounds of the trace."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from streamsched.dsl.pipeline import Loaded, load
from streamsched.dsl.trace.model import NamedDim
from streamsched.verify import samples
from streamsched.verify.request import Request
from streamsched.verify.run import verify
from streamsched.verify.sizes import sample_sizes

MODEL = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(100, 16)
        self.left = nn.Linear(16, 16)
        self.right = nn.Linear(16, 16)

    def forward(self, ids):
        batch, length = ids.shape
        x = self.embed(ids)
        a = self.left(x).view(batch * length, 16)
        b = self.right(x).reshape(batch * length, 16)
        positions = torch.arange(length, device=ids.device)
        return (a + b).view(batch, length, 16) * positions[:, None] / length
"""
SCHEDULE = """schedule sizes
model "model.py:Model"
input ids: i64[batch, seq]
target npu
sync auto
stream side
group right = module "right"
right on side
"""


@pytest.fixture
def sized(tmp_path: Path) -> Loaded:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "sizes.sched").write_text(SCHEDULE)
    found = load(str(tmp_path / "sizes.sched"))
    assert found.program is not None, found.diagnostics
    return found


def test_calls_of_several_sizes_agree(sized: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    met: list[torch.Size] = []
    original = samples._sample

    def noting(entry: samples.Input, generator: torch.Generator) -> torch.Tensor:
        made = original(entry, generator)
        met.append(made.shape)
        return made

    monkeypatch.setattr(samples, "_sample", noting)
    verdict = verify(sized, Request("", orders=2, calls=4))
    assert not isinstance(verdict, tuple)
    assert verdict.agrees, (verdict.failures, verdict.differences[:3])
    assert met[0] == (1, 1)
    assert len(set(met)) > 2


def test_sizes_are_within_the_bounds_of_all_traces() -> None:
    dims = [NamedDim("a", "x.shape[0]", 3, 5), NamedDim("a", "x.shape[0]", 2, 4), NamedDim("b", "x.shape[1]", 40)]
    for seed in range(20):
        sizes = sample_sizes(["a", "b", "c"], dims, seed)
        assert 3 <= sizes["a"] <= 4
        assert sizes["b"] >= 40
        assert sizes["c"] >= 2
    assert sample_sizes(["a", "b"], dims, 0) == {"a": 3, "b": 40}
