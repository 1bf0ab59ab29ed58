"""TGT, calls that torch.compile with npugraph_ex refuses: one finding each, none for the plain spelling."""

from __future__ import annotations

import pytest

from streamsched.dsl.diagnostic import Severity
from streamsched.dsl.program import via

SYNC = """
    entry x
    default a: x -> a
    sync default
    default b: a -> b
    exit b
"""


def test_the_plain_spelling_is_right(hazards):
    assert hazards() == hazards(SYNC) == []


@pytest.mark.parametrize(
    ("code", "line", "word", "message"),
    [
        (
            "TGT103",
            "wait ready side",
            via.WAIT_STREAM,
            "`side` waits by `wait_stream`, which npugraph_ex does not compile",
        ),
        (
            "TGT105",
            "record done side",
            via.NEW_EVENT,
            "`done` is made by `record_event()` on `side`, which npugraph_ex does not compile",
        ),
        (
            "TGT106",
            "record done side",
            via.GENERIC_EVENT,
            "`done` is a `torch.Event`, which npugraph_ex does not know",
        ),
        (
            "TGT106",
            "side mm: a w -> y  @side",
            via.GENERIC_STREAM,
            "`side` is a `torch.Stream`, which npugraph_ex does not know",
        ),
        (
            "TGT107",
            "side mm: a w -> y  @side",
            via.SET_STREAM_LIMIT,
            "`torch.npu.set_stream_limit` in forward(), which torch.compile cannot trace",
        ),
        (
            "TGT107",
            "record ready default",
            via.DEFAULT_STREAM,
            "`torch.npu.default_stream()` in forward(), which torch.compile cannot trace",
        ),
        (
            "TGT107",
            "default mul: y -> z",
            via.NO_STREAM,
            "`torch.npu.stream(None)` in forward(), which torch.compile cannot trace",
        ),
        (
            "TGT107",
            "record done side",
            via.EXTERNAL_EVENT,
            "`torch.npu.ExternalEvent()` in forward(), which torch.compile cannot trace",
        ),
    ],
)
def test_call_that_does_not_compile(hazards, code, line, word, message):
    [found] = hazards(via={line: word})
    assert (found.code, found.severity, found.message) == (code, Severity.ERROR, message)
    assert found.related
    assert hazards(via={line: word}, target="npu") == []
    assert hazards(via={line: word}, target="cuda") == []


@pytest.mark.parametrize("word", [via.STREAM_SYNCHRONIZE, via.EVENT_SYNCHRONIZE])
def test_host_that_waits_in_a_graph(hazards, findings, word):
    [found] = hazards(SYNC, {"sync default": word}, whole_graph=True)
    assert (found.code, found.severity) == ("TGT104", Severity.ERROR)
    assert found.message == f"the host waits for `default` by `{word}`, which npugraph_ex does not compile"
    text = SYNC.replace("sync default", f"sync default via {word}")
    assert findings(text, "CAP103", target="npugraph_ex", whole_graph=True) == [], "one finding is enough"
    assert len(findings(text, "CAP103", target="cuda", whole_graph=True)) == 1


def test_one_finding_for_each_stream_and_each_call(hazards):
    text = """
        entry x
        record ready default
        wait ready side
        side a: x -> a
        side b: a -> b
        record done side
        wait done default
        exit b
    """
    both = via.join(via.GENERIC_STREAM, via.SET_STREAM_LIMIT)
    found = hazards(text, {"side a: x -> a": both, "side b: a -> b": both})
    assert [d.code for d in found] == ["TGT106", "TGT107"]
    assert [d.related[0].span.line for d in found] == [4, 4]
