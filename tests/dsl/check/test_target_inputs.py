"""TGT: what npugraph_ex does wrong without a word, or refuses."""

from __future__ import annotations

import pytest

from streamsched.dsl.diagnostic import Severity, Span
from streamsched.dsl.trace.model import StorageKind

SIDE = """
    entry x
    record start default
    wait start side
    side update: x -> {written} @update
    record done side
    wait done default
    exit x
"""

DEFAULT = """
    entry x
    default update: x -> {written} @update
    record start default
    wait start side
    side a: x -> a @side
    record done side
    wait done default
    default b: x -> b
    record more default
    wait more side
    side c: x -> c
    record end side
    wait end default
    exit x
"""

KINDS = {"buffer": StorageKind.BUFFER, "weight": StorageKind.PARAMETER, "constant": StorageKind.CONSTANT}


@pytest.mark.parametrize(
    ("written", "words"),
    [("x", "graph input `x`"), ("buffer", "buffer `buffer`"), ("weight", "parameter `weight`")],
)
def test_input_mutated_on_a_side_stream(findings, written, words):
    text = SIDE.format(written=written)
    [found] = findings(text, "TGT101", target="npugraph_ex", kinds=KINDS)
    assert found.severity is Severity.ERROR
    assert found.message == (
        f"`update` on `side` writes the {words}, which npugraph_ex writes back before it joins the stream"
    )
    assert found.span == Span("test.sched", 101, 1, 101, 10)
    assert [r.span.line for r in found.related] == [4]
    assert findings(text, "TGT102", target="npugraph_ex", kinds=KINDS) == []


@pytest.mark.parametrize("target", ["npu", "cuda", "cpu"])
def test_other_targets_mutate_inputs_anywhere(findings, target):
    for text in (SIDE, DEFAULT):
        assert findings(text.format(written="x"), "TGT101", target=target) == []
        assert findings(text.format(written="x"), "TGT102", target=target) == []


def test_what_the_graph_owns_may_be_mutated(findings):
    for text in (SIDE, DEFAULT):
        for written in ("y", "constant"):
            found = findings(text.format(written=written), target="npugraph_ex", kinds=KINDS)
            assert not [d for d in found if d.code.startswith("TGT")]


def test_event_recorded_after_an_input_was_mutated(findings):
    [found] = findings(DEFAULT.format(written="x"), "TGT102", target="npugraph_ex")
    assert found.severity is Severity.ERROR
    assert found.message == "`start` is recorded on `default` after `update` has written the graph input `x` there"
    assert [(r.span.line, r.message) for r in found.related] == [(2, "`x` is written here"), (3, "the record")]
    assert found.notes == (
        "torch.compile refuses an event on a stream where an input was written before; 1 more follow",
    )


def test_input_mutated_behind_the_last_record_of_default(findings):
    text = """
        entry x
        record start default
        wait start side
        side a: x -> a
        record done side
        wait done default
        default update: a -> x
        exit x
    """
    assert not [d for d in findings(text, target="npugraph_ex") if d.code.startswith("TGT")]
