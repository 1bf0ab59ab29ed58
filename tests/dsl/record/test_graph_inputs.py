"""Graphs that are replayed when what they were captured with is gone."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from audits import Auditor

X = "x: f32[8, 8]"


def model(*lines: str) -> str:
    head = """
import torch

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()
        self.graph = None
        self.register_buffer("kept", torch.zeros(8, 8))

    def forward(self, x):
        if self.graph is None:
            self.graph = torch.cuda.CUDAGraph()
            static = x + 1
            with torch.cuda.graph(self.graph, stream=self.side):
"""
    return head + "".join(f"        {line}\n" for line in lines)


@pytest.mark.parametrize(
    ("captured", "name"), [("self.y = static * 2", "static"), ("self.y = x * 2", "x"), ("static.add_(1)", "static")]
)
def test_what_a_graph_uses_must_live(found: Auditor, captured: str, name: str) -> None:
    source = model(f"        {captured}", "    del static", "self.graph.replay()", "return x + 1")
    findings = [each for each in found(source, X, calls=2) if each.code == "AUD108"]
    assert [each.at for each in findings] == ["self.graph.replay()"]
    assert f"`{name}`" in findings[0].message


def test_what_is_kept_and_what_the_graph_made_is_alive(found: Auditor) -> None:
    source = model(
        "        self.y = (self.kept * 2).relu() + 1",
        "self.kept.copy_(x)",
        "self.graph.replay()",
        "return self.y + 1",
    )
    assert "AUD108" not in [each.code for each in found(source, X, calls=3)]
