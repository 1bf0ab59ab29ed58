"""Graphs on the virtual device: whose memory is what a capture allocates, and what is issued before the capture."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from audits import Auditor

X = "x: f32[8, 8]"
WARMED_UP = """
import torch

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()

    def forward(self, x):
        main = torch.cuda.current_stream()
        y = x.relu()
        self.side.wait_stream(main)
        with torch.cuda.stream(self.side):
            z = y * 2
        w = y + 1
        {join}
        return w + z

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()
        self.graph = None
        self.static = torch.zeros(8, 8, device="cuda")

    def capture(self):
        warm = torch.cuda.Stream()
        {fork}
        with torch.cuda.stream(warm):
            self.block(self.static)
        torch.cuda.current_stream().wait_stream(warm)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = self.block(self.static)

    def forward(self, x):
        {before}
        if self.graph is None:
            self.capture()
        self.static.copy_(x)
        self.graph.replay()
        return self.out.clone()
"""
FORK = "warm.wait_stream(torch.cuda.current_stream())"
JOIN = "main.wait_stream(self.side)"
FILLED = "self.static.copy_(x)"


@pytest.mark.parametrize("calls", [1, 2, 3])
@pytest.mark.parametrize("fork", [FORK, "pass"])
def test_what_dies_in_a_capture_stays_in_the_pool_of_its_graph(found: Auditor, fork: str, calls: int) -> None:
    """`z` is the graph's own: what `side` issues outside of the capture is not given its memory."""
    assert found(WARMED_UP.format(fork=fork, join=JOIN, before="pass"), X, calls=calls) == []


def test_a_warm_up_that_does_not_wait_for_what_it_reads(found: Auditor) -> None:
    (finding,) = found(WARMED_UP.format(fork="pass", join=JOIN, before=FILLED), X)
    assert (
        finding.message
        == "`relu` on `warm` reads `static` that `copy_` on `default` writes, and nothing orders them (RAW)"
    )
    assert (finding.at, finding.related) == ("y = x.relu()", (FILLED,))
    assert found(WARMED_UP.format(fork=FORK, join=JOIN, before=FILLED), X) == []


CAPTURED = """
import torch

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side, self.other = torch.cuda.Stream(), torch.cuda.Stream()

    def forward(self, x):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            main = torch.cuda.current_stream()
            y = x * 2
            self.side.wait_stream(main)
            with torch.cuda.stream(self.side):
                z = y + 1
            {drop}
            w = x + 3
            main.wait_stream(self.side)
            self.out = w + z
        {behind}
        graph.replay()
        return x + 1
"""


def test_memory_that_is_reused_too_early_in_a_capture(found: Auditor) -> None:
    (finding,) = found(CAPTURED.format(drop="del y", behind="pass"), X)
    assert finding.message == "`y` is freed while `add` on `side` may still use it"
    assert (finding.at, finding.related) == ("z = y + 1", ("del y", "w = x + 3"))
    assert found(CAPTURED.format(drop="pass", behind="del y, z, w"), X) == []


def test_what_a_graph_made_is_dropped_while_another_stream_reads_it(found: Auditor) -> None:
    """Its memory is the graph's: whoever drops the last name gives it to nobody."""
    lines = (
        "current, self.out = torch.cuda.current_stream(), z",
        "del y, z, w",
        "graph.replay()",
        "self.other.wait_stream(current); self.side.wait_stream(current)",
        "with torch.cuda.stream(self.other): double = self.out * 2",
        "self.out = None",
        "with torch.cuda.stream(self.side): more = x + 4",
        "current.wait_stream(self.other); current.wait_stream(self.side)",
    )
    behind = "\n        ".join(lines)
    assert found(CAPTURED.format(drop="pass", behind=behind), X) == []
