"""AUD: what only a run of hand-written code can tell."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from audits import Auditor

X = "x: f32[8, 8]"
HEAD = """
import torch
from streamsched.dsl.record.kernels import kernel

@kernel(reads=("x",), writes=("out",))
def scale(x, out):
    raise AssertionError("it cannot be launched here")

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side, self.other = torch.cuda.Stream(), torch.cuda.Stream()
        self.event = torch.cuda.Event()

    def stray(self, x):
        torch.cuda.set_stream(self.other)
        return x * 2

    def forward(self, x):
        main = torch.cuda.current_stream()
"""


def forward(*lines: str) -> str:
    return HEAD + "".join(f"        {line}\n" for line in lines)


def test_no_side_stream(found: Auditor) -> None:
    (finding,) = found(forward("return x + 1"), X)
    assert finding.code == "AUD101"
    assert finding.message == "nothing ran on a side stream, so there was nothing to check"
    assert finding.at == "def forward(self, x):"


def test_a_function_that_leaves_another_stream_current(found: Auditor) -> None:
    findings = found(
        forward(
            "self.side.wait_stream(main); self.other.wait_stream(main)",
            "with torch.cuda.stream(self.side):",
            "    y = self.stray(x)",
            "    z = y + 1",
            "main.wait_stream(self.side); main.wait_stream(self.other)",
            "return z + 1",
        ),
        X,
    )
    assert [each.code for each in findings] == ["AUD102"]
    assert findings[0].message == "this is issued on `other` inside the block of `side`"
    assert findings[0].at == "z = y + 1"
    assert findings[0].related == ("torch.cuda.set_stream(self.other)",)


def test_forward_that_leaves_another_stream_current(found: Auditor) -> None:
    findings = found(
        forward(
            "self.other.wait_stream(main)", "y = self.stray(x)", "main.wait_stream(self.other)", "return main and x"
        ),
        X,
    )
    assert [(each.code, each.at) for each in findings] == [("AUD102", "torch.cuda.set_stream(self.other)")]


def test_a_stream_that_is_made_in_each_call(found: Auditor) -> None:
    lines = (
        "mine = torch.cuda.Stream()",
        "mine.wait_stream(main)",
        "with torch.cuda.stream(mine):",
        "    y = x + 1",
        "main.wait_stream(mine)",
        "return y * 2",
    )
    (finding,) = found(forward(*lines), X)
    assert (finding.code, finding.at) == ("AUD103", "mine = torch.cuda.Stream()")
    assert finding.message == "the stream `mine` is made in each call"


BLOCK = (
    "out = torch.empty_like(x)",
    "self.side.wait_stream(main)",
    "with torch.cuda.stream(self.side):",
    "    {launch}",
    "{join}",
    "return out + 1",
)


def test_an_address_that_goes_out_of_sight(found: Auditor) -> None:
    source = forward(*BLOCK).format(launch="out.data_ptr(); x + 1", join="main.wait_stream(self.side)")
    (finding,) = found(source, X)
    assert finding.code == "AUD104"
    assert finding.message == "the address of `out` is taken, and what happens to it is not seen"


def test_a_declared_kernel_is_checked(found: Auditor) -> None:
    (finding,) = found(forward(*BLOCK).format(launch="scale(x, out)", join="pass"), X)
    assert finding.code == "ORD101"
    assert finding.message == (
        "`add` on `default` reads `out` that `scale` on `side` writes, and nothing orders them (RAW)"
    )
    assert finding.related == ("scale(x, out)",)
    joined = forward(*BLOCK).format(launch="scale(x, out)", join="main.wait_stream(self.side)")
    assert found(joined, X) == []


def test_an_event_that_is_recorded_again(found: Auditor) -> None:
    lines = (
        "self.event.record()",
        "self.event.wait(self.side)",
        "with torch.cuda.stream(self.side):",
        "    y = x + 1",
        "    self.event.record()",
        "self.event.wait()",
        "return y + 1",
    )
    assert found(forward(*lines), X) == []
    (remark,) = found(forward(*lines), X, remarks=True)
    assert remark.code == "AUD105"
    assert remark.message == "`event` is recorded twice in one call, on `default`, then on `side`"


def test_a_wait_for_the_last_call_s_record(found: Auditor) -> None:
    lines = (
        "self.event.wait(self.side)",
        "self.side.wait_stream(main)",
        "with torch.cuda.stream(self.side):",
        "    y = x + 1",
        "main.wait_stream(self.side)",
        "z = y * 2",
        "self.event.record()",
        "return z",
    )
    assert found(forward(*lines), X) == []


NPU = """
import torch
import torch_npu

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.npu.Stream()
        self.ready, self.done = torch.npu.Event(), torch.npu.Event()

    def forward(self, x):
        assert torch.npu.is_available() and x.device.type == "npu" and x.is_npu
        y = x + 1
        {record}
        with torch.npu.stream(self.side):
            {wait}
            z = y * 2
            self.done.record()
        self.done.wait()
        return z
"""


@pytest.mark.parametrize(
    ("record", "wait", "codes"),
    [
        ("self.ready.record()", "self.ready.wait()", []),
        ("torch.npu.current_stream().record_event(self.ready)", "self.ready.wait()", ["TGT113"]),
        ("main = torch.npu.current_stream()", "self.side.wait_stream(main)", ["TGT103"]),
        ("torch.npu.synchronize()", "pass", ["TGT116"]),
        ("pass", "pass", ["ORD101"]),
    ],
)
def test_what_npugraph_ex_makes_of_it(found: Auditor, record: str, wait: str, codes: list[str]) -> None:
    findings = found(NPU.format(record=record, wait=wait), X, target="npugraph_ex")
    assert [each.code for each in findings] == codes
