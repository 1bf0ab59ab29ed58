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
        self.event, self.last = torch.cuda.Event(), torch.cuda.Event()
        self.graph = torch.cuda.CUDAGraph()
        self.static = torch.zeros(8, 8, device="cuda")

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


@pytest.mark.parametrize("issued", ["z = torch.empty_like(x)", "self.event.record()"])
def test_allocations_and_records_stray_as_well(found: Auditor, issued: str) -> None:
    findings = found(
        forward(
            "self.side.wait_stream(main); self.other.wait_stream(main)",
            "with torch.cuda.stream(self.side):",
            "    y = self.stray(x)",
            f"    {issued}",
            "main.wait_stream(self.side); main.wait_stream(self.other)",
            "return x + 1",
        ),
        X,
    )
    assert [(each.code, each.at) for each in findings] == [("AUD102", issued)]


def test_a_function_that_puts_the_stream_back(found: Auditor) -> None:
    lines = (
        "self.side.wait_stream(main); self.other.wait_stream(main)",
        "with torch.cuda.stream(self.side):",
        "    y = self.stray(x); torch.cuda.set_stream(self.side)",
        "    self.side.wait_stream(self.other)",
        "    y.record_stream(self.side)",
        "    z = y + 1",
        "main.wait_stream(self.side)",
        "return z + 1",
    )
    assert found(forward(*lines), X) == []


def test_a_block_that_is_never_left(found: Auditor) -> None:
    lines = (
        "self.side.wait_stream(main)",
        "block = torch.cuda.stream(self.side)",
        "block.__enter__()",
        "y = x + 1",
        "main.wait_stream(self.side)",
        "return main and x",
    )
    assert [(each.code, each.at) for each in found(forward(*lines), X)] == [("AUD102", "block.__enter__()")]


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


ON_TWO_STREAMS = (
    "self.event.record()",
    "self.event.wait(self.side)",
    "with torch.cuda.stream(self.side):",
    "    y = x + 1",
    "    self.event.record()",
    "self.event.wait()",
    "return y + 1",
)


def test_an_event_that_is_recorded_on_two_streams(found: Auditor) -> None:
    assert found(forward(*ON_TWO_STREAMS), X) == []
    (remark,) = found(forward(*ON_TWO_STREAMS), X, remarks=True)
    assert remark.code == "AUD105"
    assert remark.message == "`event` is recorded on `default`, then on `side`"
    assert (remark.at, remark.related) == ("self.event.record()", ("self.event.record()",))
    assert remark.help == "use an event of its own for each record: `torch.cuda.Event()`"


def recorded_again(between: str) -> str:
    return forward(
        "y = x * 2",
        "self.event.record()",
        "with torch.cuda.stream(self.side):",
        "    self.event.wait()",
        "    left = y + 1",
        "    self.last.record()",
        between,
        "z = x * 3",
        "self.event.record()",
        "with torch.cuda.stream(self.other):",
        "    self.event.wait()",
        "    right = z + 1",
        "main.wait_stream(self.other); self.last.wait()",
        "return left + right",
    )


def test_an_event_that_is_recorded_again_before_a_wait_is_over(found: Auditor) -> None:
    (remark,) = found(recorded_again("pass"), X, remarks=True)
    assert remark.code == "AUD105"
    assert remark.message == "`event` is recorded again on `default`, before `side` has done its wait for it"
    assert (remark.at, remark.related) == ("self.event.record()", ("self.event.record()", "self.event.wait()"))


@pytest.mark.parametrize("between", ["self.last.wait()", "self.side.synchronize()"])
def test_an_event_that_is_recorded_again_behind_its_waits(found: Auditor, between: str) -> None:
    assert found(recorded_again(between), X, remarks=True) == []


def test_an_event_that_is_made_in_each_call(found: Auditor) -> None:
    source = forward(
        "ready = torch.cuda.Event()",
        "ready.record()",
        "with torch.cuda.stream(self.side):",
        "    ready.wait()",
        "    y = x + 1",
        "main.wait_stream(self.side)",
        "return y * 2",
    )
    assert found(source, X) == []
    (remark,) = found(source, X, remarks=True)
    assert (remark.code, remark.at) == ("AUD106", "ready = torch.cuda.Event()")
    assert remark.message == "the event `ready` is made in each call"
    assert remark.help == "make it once, in `__init__`: `self.ready = torch.cuda.Event()`"


CAPTURES = (
    "self.side.wait_stream(main)",
    "with torch.cuda.stream(self.side):",
    "    self.graph.capture_begin()",
    "    y = self.static + 1",
    "    self.other.wait_stream(self.side)",
    "    with torch.cuda.stream(self.other):",
    "        z = y * 2",
    "    {join}",
    "    self.graph.capture_end()",
    "main.wait_stream(self.side)",
    "self.static.copy_(x)",
    "self.graph.replay()",
    "return x + 1",
)


def test_a_capture_that_is_closed_with_work_in_flight(found: Auditor) -> None:
    (finding,) = found(forward(*CAPTURES).format(join="pass"), X)
    assert finding.code == "CAP102"
    assert finding.message == "`other` is not joined: the end of the capture does not wait for `mul`"
    assert (finding.at, finding.related) == ("z = y * 2", ("self.graph.capture_end()",))
    assert found(forward(*CAPTURES).format(join="self.side.wait_stream(self.other)"), X) == []


def test_what_a_capture_launches_does_not_run(found: Auditor) -> None:
    """Nothing is left to wait for behind it, so that the graph's memory can be filled for a replay."""
    source = forward(
        "with torch.cuda.graph(self.graph):",
        "    self.out = self.static + 1",
        "self.static.copy_(x)",
        "self.graph.replay()",
        "with torch.cuda.stream(self.side):",
        "    {wait}",
        "    y = self.out * 2",
        "main.wait_stream(self.side)",
        "return y + 1",
    )
    assert found(source.format(wait="self.side.wait_stream(main)"), X) == []
    (finding,) = found(source.format(wait="pass"), X)
    assert finding.message == (
        "`mul` on `side` reads `out` that `replay` on `default` writes, and nothing orders them (RAW)"
    )


def test_a_capture_alone_uses_no_side_stream(found: Auditor) -> None:
    source = forward("with torch.cuda.graph(self.graph):", "    self.out = self.static + 1", "return x + 1")
    assert [each.code for each in found(source, X)] == ["AUD101"]


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


@pytest.mark.parametrize(
    ("made", "record", "name"),
    [
        ('{(i, k): torch.cuda.Event() for i in range(2) for k in "cm"}', 'self.e[i, "m"].record()', '`e[1, "m"]`'),
        (
            '{(i, k): torch.cuda.Event() for i in range(2) for k in "cm"}',
            'main.record_event(self.e[i, "m"])',
            '`e[1, "m"]`',
        ),
        ("[torch.cuda.Event(), torch.cuda.Event()]", "main.record_event(event=self.e[i])", "`e[1]`"),
        ("[torch.cuda.Event(), torch.cuda.Event()]", "self.e[i].record(main)", "`e[1]`"),
        ("[torch.cuda.Event(), torch.cuda.Event()]", "self.e[i].record(self.e and main)", "`e[1]`"),
        ("[torch.cuda.Event(), torch.cuda.Event()]", "self.e[len(self.e) - 1].record(main)", "`event 4`"),
        ("(torch.cuda.Event(), torch.cuda.Event())", "main.record_event(self.e[-1])", "`event 4`"),
    ],
)
def test_events_in_a_container_have_names_of_their_own(found: Auditor, made: str, record: str, name: str) -> None:
    """Never that of the stream that they are recorded on."""
    twice = (
        record.replace("main", "self.other") if "main" in record else f"with torch.cuda.stream(self.other): {record}"
    )
    source = forward(
        "i = 1", record, "self.other.wait_stream(main)", twice, "main.wait_stream(self.other)", "return x + 1"
    )
    source = source.replace("        self.graph =", f"        self.e = {made}\n        self.graph =")
    messages = [each.message for each in found(source, X, remarks=True) if each.code == "AUD105"]
    assert messages == [f"{name} is recorded on `default`, then on `other`"]
