"""TGT, graphs: streams left open and events that cross the bounds of a graph, under npugraph_ex."""

from __future__ import annotations

from streamsched.dsl.diagnostic import Severity
from streamsched.dsl.program import via

ONLY_WAITS = """
    entry x
    default a: x -> a
    record ready default
    wait ready side
    {more}
    exit a
"""

BROKEN = """
    entry x
    begin default
    record ready default
    wait ready side
    side a: x -> a
    end default
    begin default
    side b: a -> b
    record done side
    wait done default
    end default
    exit b
"""


def test_stream_that_only_waits(hazards):
    [found] = hazards(ONLY_WAITS.format(more=""))
    assert (found.code, found.severity) == ("TGT108", Severity.ERROR)
    assert found.message == "`side` waits for `ready`, and nothing is ever issued on it"
    assert [r.span.line for r in found.related] == [4]
    assert hazards(ONLY_WAITS.format(more=""), target="npu") == []


def test_stream_that_only_waits_and_is_joined(hazards):
    assert hazards(ONLY_WAITS.format(more="record done side\n    wait done default")) == []
    assert hazards(ONLY_WAITS.format(more="side b: a -> b")) == []


def test_graph_break_inside_a_block(hazards):
    [found] = hazards(BROKEN.replace("end default\n    begin", "end default via graph_break, with side\n    begin"))
    assert (found.code, found.severity) == ("TGT109", Severity.ERROR)
    assert found.message == "the graph breaks inside the block of `side`"
    assert [r.span.line for r in found.related] == [6]


def test_graph_break_outside_of_blocks(hazards):
    assert hazards(BROKEN.replace("end default\n    begin", "end default via graph_break\n    begin")) == []


def test_capture_that_somebody_ends_inside_a_block(hazards):
    assert hazards(BROKEN.replace("end default\n    begin", "end default via with side\n    begin")) == []


ACROSS = """
    entry x
    {first}
    default a: x -> a
    {second}
    begin default
    {inside}
    default b: a -> b
    end default
    {after}
    exit b
"""


def across(**parts):
    return ACROSS.format(**{"first": "", "second": "", "inside": "", "after": "", **parts})


def test_event_recorded_by_the_caller_and_waited_for_in_the_graph(hazards):
    [found] = hazards(across(second="record ready default", inside="wait ready default"))
    assert (found.code, found.severity) == ("TGT110", Severity.ERROR)
    assert found.message == "`ready` is recorded before the begin of the graph and waited for after it"
    assert found.notes == ("it compiles without a word, and the wait orders nothing",)


def test_event_recorded_in_the_graph_and_waited_for_by_the_caller(hazards):
    [found] = hazards(across(inside="record ready default", after="wait ready other"))
    assert found.code == "TGT110"
    assert found.message == "`ready` is recorded before the end of the graph and waited for after it"


def test_event_on_both_sides_of_a_graph_break(hazards):
    text = """
        entry x
        begin default
        default a: x -> a
        record ready default
        end default via graph_break
        begin default via graph_break
        wait ready side
        side b: a -> b
        end default
        exit b
    """
    [found] = hazards(text)
    assert found.code == "TGT110"
    assert found.message == "`ready` is recorded before the graph break and waited for after it"
    assert found.notes == ("npugraph_ex refuses it",)


def test_event_within_one_graph_or_outside_of_all(hazards):
    assert hazards(across(inside="record ready default\n    wait ready default")) == []
    assert hazards(across(first="record ready default", second="wait ready default")) == []


WORK = """
    entry x
    {fork}
    side copy: x -> x1
    {join}
    begin default
    record ready default
    wait ready side
    side mm: x1 -> y
    record done side
    wait done default
    end default
    exit y
"""


def test_work_of_the_caller_on_a_stream_of_the_graph(hazards):
    [found] = hazards(WORK.format(fork="", join=""))
    assert (found.code, found.severity) == ("TGT111", Severity.ERROR)
    assert found.message == (
        "`copy` on `side` is issued before the graph that runs `mm` there, and the graph does not wait for it"
    )
    assert [r.span.line for r in found.related] == [2, 6]
    assert hazards(WORK.format(fork="", join=""), target="npu") == []


def test_work_of_the_caller_that_is_joined_first(hazards):
    assert hazards(WORK.format(fork="", join="record copied side\n    wait copied default")) == []


def test_stream_left_set(hazards):
    [found] = hazards(via={"exit z": via.SET_STREAM})
    assert (found.code, found.severity) == ("TGT112", Severity.ERROR)
    assert found.message == "forward() ends with another stream current than it began with"
    assert hazards(via={"exit z": via.SET_STREAM}, target="npu") == hazards() == []
