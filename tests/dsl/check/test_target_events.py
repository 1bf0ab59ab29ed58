"""TGT, events: what compiles under npugraph_ex and orders something else than it says."""

from __future__ import annotations

import pytest

from streamsched.dsl.diagnostic import Severity
from streamsched.dsl.program import via

TWICE = """
    entry x w
    default a: x -> a
    record {first} default
    wait {first} side
    side b: a w -> b
    default c: a -> c
    record {second} default
    wait {second} side
    side d: b c -> d
    record done side
    wait done default
    exit c d
"""


def test_record_by_the_stream(hazards):
    [found] = hazards(via={"record ready default": via.STREAM_RECORD_EVENT})
    assert (found.code, found.severity) == ("TGT113", Severity.ERROR)
    assert found.message == (
        "`ready` is recorded on `default` by `stream.record_event`, and npugraph_ex drops every wait for it"
    )
    assert found.help == "write `ready.record()`"
    assert hazards(via={"record ready default": via.STREAM_RECORD_EVENT}, target="npu") == []


@pytest.mark.parametrize(
    ("line", "done"), [("record ready default", "recorded on"), ("wait done default", "waited for on")]
)
def test_default_stream_inside_a_side_block(hazards, line, done):
    [found] = hazards(via={line: via.within("side")})
    assert (found.code, found.severity) == ("TGT114", Severity.ERROR)
    event = line.split()[1]
    assert found.message == (
        f"`{event}` is {done} `default` inside the block of `side`, where npugraph_ex issues it on `side`"
    )
    assert hazards(via={line: via.within("side")}, target="npu") == []


def test_side_stream_inside_a_block(hazards):
    assert hazards(via={"record done side": via.within("other"), "wait ready side": via.within("side")}) == []
    assert hazards(via={"record ready default": via.within("default")}) == []


def test_event_recorded_twice(hazards, findings):
    text = TWICE.format(first="e", second="e")
    [found] = hazards(text)
    assert (found.code, found.severity) == ("TGT115", Severity.ERROR)
    assert found.message == (
        "`e` is recorded 2 times in one forward, which misleads npugraph_ex about what it may overwrite"
    )
    assert [r.span.line for r in found.related] == [3, 7]
    assert findings(text, "ORD105", target="npugraph_ex") == [], "one finding is enough"
    assert len(findings(text, "ORD105", target="npu")) == 1


def test_each_event_recorded_once(hazards):
    assert hazards(TWICE.format(first="e", second="f")) == []
