"""Buffers of the host that the code fills and reads through numpy."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from audits import Auditor

X = "x: f32[8]"


def refilled(line: str, wait: str = "pass") -> str:
    return f"""
import numpy as np
import torch

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        whole = torch.zeros(9, device="cpu", pin_memory=True)
        self.pin = whole[1:]
        self.np = self.pin.numpy()
        self.side = torch.cuda.Stream()
        self.done = torch.cuda.Event()

    def forward(self, x):
        main = torch.cuda.current_stream()
        {wait}
        {line}
        with torch.cuda.stream(self.side):
            d = self.pin.to("cuda", non_blocking=True)
            self.done.record()
        main.wait_stream(self.side)
        d.record_stream(main)
        return x + d
"""


@pytest.mark.parametrize(
    "line",
    [
        "self.np[:] = 3.0",
        "self.np[0] = 3.0",
        "self.pin.numpy()[2:] = 3.0",
        "self.np[2:6][::-1][1:] = 3.0",
        "self.np.reshape(2, 4).T[0] = 3.0",
        "self.np += 1",
        "self.np[:4] += 1",
        "np.add(self.np, 1, out=self.np)",
        "np.add.at(self.np, [0, 1], 1)",
        "np.cumsum(np.ones(8), out=self.np)",
        "np.copyto(self.np[:4], 3.0)",
        "np.copyto(dst=self.np, src=np.ones(8))",
        "np.take(np.arange(8.0), [0] * 8, out=self.np)",
        "self.np.fill(3.0)",
        "self.np.sort()",
    ],
)
def test_a_write_is_a_write_of_the_host(found: Auditor, line: str) -> None:
    (finding,) = found(refilled(line), X, calls=2)
    assert (finding.code, finding.at) == ("ORD101", line)
    assert "writes `whole`" in finding.message and "(WAR)" in finding.message
    assert not found(refilled(line, wait="self.done.synchronize()"), X, calls=2)


@pytest.mark.parametrize(
    "line",
    [
        "y = self.np + 1; y[:] = 2; y += 1",
        "y = self.np.copy(); y[:] = 2; y.fill(1); np.copyto(y, 3)",
        "y = self.np[[0, 1]]; y[0] = 2",
        "y = self.np.astype('int32'); y += 1",
        "y = np.zeros(8); y[:] = self.np; np.add(self.np, 1, out=y)",
        "y = float(self.np.sum() + np.max(self.np) + self.np[0]); assert self.np.tolist() == [0.0] * 8",
        "y = np.asarray(self.pin, dtype='float64'); z = np.concatenate([y, self.np])",
        "import copy; y = copy.deepcopy(self.np); y[:] = 2",
    ],
)
def test_what_only_reads_it_writes_nothing(found: Auditor, line: str) -> None:
    assert not found(refilled(line), X, calls=3)


READS = """
import torch

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.pin = torch.zeros(8, device="cpu", pin_memory=True)
        self.np = self.pin.numpy()
        self.side, self.done = torch.cuda.Stream(), torch.cuda.Event()

    def forward(self, x):
        main = torch.cuda.current_stream()
        self.side.wait_stream(main)
        with torch.cuda.stream(self.side):
            self.pin.copy_(x, non_blocking=True)
            self.done.record()
        {wait}
        y = {read}
        main.wait_stream(self.side)
        return x + y
"""


@pytest.mark.parametrize("read", ["float(self.np[0])", "self.np.tolist()[0]", "float(self.np.sum())"])
def test_a_read_before_the_copy_is_complete(found: Auditor, read: str) -> None:
    (finding,) = found(READS.format(wait="pass", read=read), X, calls=1)
    assert (finding.code, finding.at) == ("ORD101", f"y = {read}")
    assert "(RAW)" in finding.message
    assert not found(READS.format(wait="self.done.synchronize()", read=read), X, calls=2)
