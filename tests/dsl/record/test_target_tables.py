"""What npugraph_ex rejects, drops or reorders, each as code that somebody wrote; and the same code as it takes it."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from audit_batch import audit_all

from streamsched.dsl.audit import Audited
from streamsched.dsl.check.target import RULES
from streamsched.dsl.diagnostic import Severity

HEAD = """
import torch
import torch_npu

OUTSIDE = torch.npu.Event()

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side, self.other = torch.npu.Stream(), torch.npu.Stream()
        self.ready, self.done, self.third = torch.npu.Event(), torch.npu.Event(), torch.npu.Event()
        self.generic, self.generic_side = torch.Event(), torch.Stream()
        self.timed = torch.npu.Event(enable_timing=True)
        self.register_buffer("cache", torch.zeros(8, 8))
        self.w = torch.nn.Parameter(torch.ones(8, 8))
        OUTSIDE.record()

    def forward(self, x):
        main = torch.npu.current_stream()
        a = x + 1
"""
BLOCK = "with torch.npu.stream(self.side):"
LIMIT = "with torch.npu.npugraph_ex.scope.limit_core_num(8, 16):"


def forward(
    fork: str = "self.ready.record()",
    wait: str = "self.ready.wait()",
    *,
    block: str = BLOCK,
    inside: str = "pass",
    record: str = "self.done.record()",
    join: str = "self.done.wait()",
    tail: str = "pass",
    result: str = "y + 1",
) -> str:
    """A forward that runs `y = a * 2` on a side stream, with some of its lines exchanged."""
    lines = (*fork.splitlines(), block, f"    {wait}", "    y = a * 2", f"    {inside}", f"    {record}", join)
    lines += (*tail.splitlines(), f"return {result}")
    return HEAD + "".join(f"        {line}\n" for line in lines)


def limited(around: str) -> str:
    """A forward with a core limit around the block of the side stream."""
    text = forward().replace(f"        {BLOCK}\n", f"        {around}\n            {BLOCK}\n")
    for line in ("self.ready.wait()", "y = a * 2", "pass", "self.done.record()"):
        text = text.replace(f"            {line}\n", f"                {line}\n")
    return text


AGAIN = """b = a + 3
self.ready.record()
with torch.npu.stream(self.side):
    self.ready.wait()
    z = b * 3
    self.third.record()
self.third.wait()"""

GROUPED = "z = torch._grouped_mm(y.bfloat16(), self.w.bfloat16()[None], torch.tensor([8], dtype=torch.int32))"

HAZARDS: dict[str, tuple[str, str, str]] = {
    "wait_stream": ("TGT103", forward("pass", "self.side.wait_stream(main)"), "self.side.wait_stream(main)"),
    "stream.synchronize": ("TGT104", forward(join="self.side.synchronize()"), "self.side.synchronize()"),
    "event.synchronize": ("TGT104", forward(join="self.done.synchronize()"), "self.done.synchronize()"),
    "record_event()": ("TGT105", forward("e = main.record_event()", "e.wait()"), "e = main.record_event()"),
    "torch.Event": ("TGT106", forward("self.generic.record()", "self.generic.wait()"), "self.generic.record()"),
    "torch.Stream": ("TGT106", forward(block="with self.generic_side:"), "y = a * 2"),
    "set_stream_limit": (
        "TGT107",
        forward("self.ready.record()\ntorch.npu.set_stream_limit(self.side, 8, 16)"),
        "self.ready.wait()",
    ),
    "default_stream": ("TGT107", forward("self.ready.record(torch.npu.default_stream())"), ""),
    "stream(None)": ("TGT107", forward(tail="with torch.npu.stream(None):\n    b = a * 3"), "b = a * 3"),
    "ExternalEvent": ("TGT107", forward("e = torch.npu.ExternalEvent()\ne.record()", "e.wait()"), "e.record()"),
    "waits only": ("TGT108", forward(tail="self.ready.wait(self.other)"), "self.ready.wait(self.other)"),
    "break in a block": ("TGT109", forward(inside="torch._dynamo.graph_break()"), "torch._dynamo.graph_break()"),
    "break behind a record": (
        "TGT110",
        forward("self.ready.record()\ntorch._dynamo.graph_break()"),
        "self.ready.wait()",
    ),
    "recorded by the caller": ("TGT110", forward(inside="OUTSIDE.wait()"), "OUTSIDE.wait()"),
    "set_stream": (
        "TGT112",
        forward(tail="torch.npu.set_stream(self.side)", result="x"),
        "torch.npu.set_stream(self.side)",
    ),
    "record_event": ("TGT113", forward("main.record_event(self.ready)"), "main.record_event(self.ready)"),
    "wait in a block": ("TGT114", forward(record="self.done.record(); self.done.wait(main)", join="pass"), ""),
    "wait_event in a block": ("TGT114", forward(record="self.done.record(); main.wait_event(self.done)", join=""), ""),
    "record in a block": ("TGT114", forward("pass", "self.ready.record(main); self.ready.wait()"), ""),
    "recorded twice": ("TGT115", forward(tail=AGAIN, result="y + z"), "self.ready.record()"),
    "synchronize": ("TGT116", forward(join="torch.npu.synchronize()"), "torch.npu.synchronize()"),
    "query": (
        "TGT117",
        forward(tail="self.third.record()\nself.third.query()", result="y + 1"),
        "self.third.record()",
    ),
    "timing": ("TGT118", forward("self.timed.record()", "self.timed.wait()"), "self.timed.record()"),
    "limit around a block": ("TGT119", limited(LIMIT), "y = a * 2"),
    "grouped_mm": ("TGT120", forward(tail=GROUPED, result="z"), GROUPED),
    "view of an input": ("TGT121", forward(result="y + 1, x.flatten()"), "def forward(self, x):"),
    "buffer written on a side stream": ("TGT101", forward(inside="self.cache.copy_(y)"), "self.cache.copy_(y)"),
    "input written on a side stream": ("TGT101", forward(inside="x.copy_(y)"), "x.copy_(y)"),
    "method, then record": ("TGT102", forward("self.cache.add_(a)\nself.ready.record()"), "self.cache.add_(a)"),
    "index, then record": ("TGT102", forward("self.cache[0] = a[0]\nself.ready.record()"), "self.cache[0] = a[0]"),
}
"""By construct: the code of its rule, the forward, and the line that is spoken of; empty where it holds two calls."""

ACCEPTED = {
    "as it is": forward(),
    "stream.wait_event": forward(wait="self.side.wait_event(self.ready)"),
    "events outside of blocks": forward("self.ready.record(); self.ready.wait(self.side)", "pass"),
    "two waiters": forward(
        tail="with torch.npu.stream(self.other):\n    self.ready.wait()\n    z = a * 3\n    self.third.record()\n"
        "self.third.wait()",
        result="y + z",
    ),
    "made in forward": forward(
        "s, e = torch.npu.Stream(), torch.npu.Event()\ne.record()", "e.wait()", block="with torch.npu.stream(s):"
    ),
    "set_stream and back": forward(
        tail="back = torch.npu.Event()\nself.third.record()\ntorch.npu.set_stream(self.other)\nself.third.wait()\n"
        "z = a * 3\nback.record()\ntorch.npu.set_stream(main)\nback.wait()",
        result="y + z",
    ),
    "break outside of all": forward(tail="torch._dynamo.graph_break()"),
    "limit in the block": forward(inside=f"{LIMIT} z = y * 2"),
    "limit of the stream": limited(LIMIT.replace("16", "16, stream=self.side")),
    "input returned": forward(result="y + 1, x"),
    "view of an input that is written": forward(tail="x.add_(1)", result="y + 1, x.flatten()"),
    "function, then record": forward("torch.ops.aten.add_(self.cache, a)\nself.ready.record()"),
    "method behind the last record": forward(tail="self.cache.add_(y)"),
    "record_stream": forward(inside="a.record_stream(self.side)"),
}


@pytest.fixture(scope="module")
def audited() -> dict[str, Audited]:
    return audit_all({name: each[1] for name, each in HAZARDS.items()} | ACCEPTED, target="npugraph_ex")


@pytest.mark.parametrize("name", HAZARDS)
def test_a_hazard_is_found_by_its_line(name: str, audited: dict[str, Audited]) -> None:
    code, source, line = HAZARDS[name]
    assert audited[name].program is not None, audited[name].diagnostics
    found = [each for each in audited[name].diagnostics if each.severity is not Severity.INFO]
    assert [each.code for each in found] == [code]
    at = source.splitlines()[found[0].span.line - 1].strip()
    assert at == line or (not line and "; " in at) or (not line and "default_stream" in at)
    assert found[0].help


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_it_accepts_is_silent(name: str, audited: dict[str, Audited]) -> None:
    assert audited[name].program is not None, audited[name].diagnostics
    assert [each for each in audited[name].diagnostics if each.severity is not Severity.INFO] == []


def test_the_table_is_whole() -> None:
    """TGT111 is about what a caller has issued on a side stream before, which a recorded forward does not hold."""
    assert {rule.code for rule in RULES} - {code for code, _, _ in HAZARDS.values()} == {"TGT111"}


def test_a_missing_wait_is_found_beside_the_inserted_fork_and_join() -> None:
    found = audit_all({"unforked": forward("pass", "pass")}, target="npugraph_ex")["unforked"].diagnostics
    assert [(each.code, each.message) for each in found] == [
        ("ORD101", "`mul` on `side` reads `a` that `add` on `default` writes, and nothing orders them (RAW)")
    ]
