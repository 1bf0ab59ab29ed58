"""Streams that another thread uses than the one that is recorded."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from audits import Auditor

X = "x: f32[8, 8]"


def model(*run: str, before: str = "pass", after: str = "pass") -> str:
    inside = "".join(f"            {line}\n" for line in run)
    return f"""
import threading
import torch

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()
        self.event = torch.cuda.Event()

    def forward(self, x):
        main = torch.cuda.current_stream()
        self.side.wait_stream(main)
        with torch.cuda.stream(self.side):
            z = x * 2
        {before}

        def run():
{inside}
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        {after}
        return x + 1
"""


@pytest.mark.parametrize(
    "line",
    [
        "with torch.cuda.stream(self.side): y = x + 1",
        "torch.cuda.set_stream(self.side)",
        "self.event.record()",
        "self.event.synchronize()",
        "main.wait_stream(self.side)",
        "main.wait_event(self.event)",
        "torch.cuda.synchronize()",
        "self.side.synchronize()",
        "torch.cuda.current_stream()",
        "x.record_stream(self.side)",
    ],
)
def test_a_use_is_told_once(found: Auditor, line: str) -> None:
    source = model(line, "self.event.query()", before="self.event.record(main)", after="main.wait_stream(self.side)")
    (finding,) = found(source, X)
    assert (finding.code, finding.at) == ("AUD107", line)


def test_nothing_is_said_of_a_thread_that_uses_no_stream(found: Auditor) -> None:
    assert not found(model("print(x.shape)", after="main.wait_stream(self.side)"), X)


def test_its_streams_are_current_there_only(found: Auditor) -> None:
    ordered = model(
        "with torch.cuda.stream(self.side):",
        "    self.event.record()",
        after="y = x + 1; self.event.wait(); z = z + 1",
    )
    assert [each.code for each in found(ordered, X)] == ["AUD107"]


def test_what_another_thread_waits_for_the_host_has_not_waited_for(found: Auditor) -> None:
    pinned = """
        pin = torch.zeros(8, 8, pin_memory=True, device="cpu")
        pin.copy_(x, non_blocking=True)
        self.event.record()
        """
    source = model("self.event.synchronize()", before=pinned.strip(), after="pin.sum()")
    assert {"AUD107", "ORD101"} <= {each.code for each in found(source, X)}


def test_no_side_stream_is_not_claimed(found: Auditor) -> None:
    source = """
import threading
import torch

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()

    def run(self, x):
        with torch.cuda.stream(self.side):
            self.y = x + 1

    def forward(self, x):
        thread = threading.Thread(target=self.run, args=(x,))
        thread.start()
        thread.join()
        return self.y * 2
"""
    (finding,) = found(source, X)
    assert finding.code == "AUD107"
    assert finding.at == "with torch.cuda.stream(self.side):"
