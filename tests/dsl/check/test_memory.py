"""MEM: lifetimes across streams."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamsched.dsl.check.registry import check
from streamsched.dsl.diagnostic import Severity, Span
from streamsched.dsl.trace.model import StorageKind

LIFE = """
    entry x
    record start default
    wait start side
    default add: x -> B
    record B_done default
    wait B_done side
    side mm: B -> mm @user
    {protection}
    free B
    {before}
    default c: x -> c
    record done side
    wait done default
    {last}
    exit c
"""


def life(protection="", before="", last=""):
    return LIFE.format(protection=protection, before=before, last=last)


def test_free_while_another_stream_still_reads(findings):
    [found] = findings(life(), "MEM101")
    assert found.severity is Severity.ERROR
    assert found.message == "`B` is freed while `mm` on `side` may still use it"
    assert found.span == Span("test.sched", 101, 1, 101, 10)
    assert [(r.span.line, r.message) for r in found.related] == [
        (7, "`mm` on `side` uses `B`"),
        (8, "`B` is freed"),
        (9, "its memory may be written from here on"),
    ]
    assert found.notes == (
        "`c` is the next on `default`, where `B` was allocated: it may get its memory, and does not wait for `mm` on "
        "`side`",
    )
    assert "`B.record_stream(...)` for `side`" in str(found.help)


def test_record_stream_protects(findings):
    assert findings(life("record_stream B side"), "MEM101") == []


def test_record_stream_of_another_stream_does_not(findings):
    assert len(findings(life("record_stream B third"), "MEM101")) == 1


def test_record_stream_after_the_free_does_not(findings):
    assert len(findings(life(before="record_stream B side"), "MEM101")) == 1


def test_a_wait_before_the_next_kernel_of_the_home_stream_protects(findings):
    assert findings(life(before="record mm_done side\n    wait mm_done default"), "MEM101") == []


def test_a_wait_after_the_next_kernel_is_too_late(findings):
    assert len(findings(life(before="default early: x -> early"), "MEM101")) == 1


def test_an_allocation_reuses_memory_too(findings):
    text = life(before="default alloc early\n    record mm_done side\n    wait mm_done default")
    [found] = findings(text, "MEM101")
    assert "`empty_early` is the next on `default`" in found.notes[0]


def test_kernels_of_other_streams_do_not_reuse_it(findings):
    text = life(before="side other: x -> other\n    record mm_done side\n    wait mm_done default")
    assert findings(text, "MEM101") == []


WRAPPED = """
    entry x
    record start default
    wait start side
    side first: x -> first
    record first_done side
    wait first_done default
    default use: first -> y
    free first
    {last}
    exit y
"""


def test_the_next_call_may_reuse_it(findings):
    """`first` is the last on `side`: its memory goes to the next call, whose fork follows this call's exit."""
    assert findings(WRAPPED.format(last=""), "MEM101") == []


def test_the_next_call_without_a_fork_reuses_it_too_early(findings):
    [found] = findings(WRAPPED.format(last="").replace("wait start side", ""), "MEM101")
    assert found.message == "`first` is freed while `use` on `default` may still use it"
    assert "`first` is the next on `side`" in found.notes[0]


def test_a_wait_for_a_record_of_the_last_call_does_not_count(findings):
    """Every call has events of its own: `late` is not recorded yet when the second call waits for it."""
    text = WRAPPED.format(last="record late default").replace("wait start side", "wait late side")
    assert len(findings(text, "MEM101")) == 1


def test_the_callers_kernels_are_on_default(findings):
    """Without a join the caller's next kernel may overwrite `B`, which `late` on `side` still reads."""
    text = """
        entry x
        record start default
        wait start side
        default add: x -> B
        record B_done default
        wait B_done side
        side late: B -> late
        exit x
        free B
    """
    [found] = findings(text, "MEM101")
    assert "the caller's next kernel is the next on `default`" in found.notes[0]


def test_a_finding_of_both_calls_is_reported_once(findings):
    assert len(findings(life() + "", "MEM101")) == 1


def test_needless_record_stream(findings):
    text = life("record_stream B side via B.record_stream()", "record mm_done side\n    wait mm_done default")
    [found] = findings(text, "MEM102")
    assert found.severity is Severity.INFO
    assert found.message == "`record_stream` of `B` for `side` protects nothing"
    assert [r.span.line for r in found.related] == [8]


def test_record_stream_of_what_lives_until_exit_is_needless(findings):
    assert len(findings(life(last="record_stream x side via x.record_stream()"), "MEM102")) == 1


@pytest.mark.parametrize("via", [" via B.record_stream()", ""])
def test_needed_record_stream(findings, via):
    assert findings(life("record_stream B side" + via), "MEM102") == []


def test_record_stream_that_the_schedule_asked_for_is_not_reported(findings):
    text = life("record_stream B side", "record mm_done side\n    wait mm_done default")
    assert findings(text, "MEM102") == []


OUTPUT = """
    entry x
    record start default
    wait start side
    side make: x -> y @maker
    record done side
    wait done default
    {protection}
    exit y
"""


def test_output_of_a_side_stream_without_record_stream(findings):
    text = OUTPUT.format(protection="")
    [found] = findings(text, "MEM103")
    assert found.severity is Severity.ERROR
    assert found.message == "output `y` was allocated on `side` and is handed to the caller without `record_stream`"
    assert found.span == Span("test.sched", 101, 1, 101, 10)
    assert [r.span.line for r in found.related] == [4]
    assert findings(text, "MEM104") == []


def test_output_of_a_side_stream_with_record_stream(findings):
    text = OUTPUT.format(protection="record_stream y default via y.record_stream()")
    assert findings(text, "MEM103") == []
    assert findings(text, "MEM102") == []
    [found] = findings(text, "MEM104")
    assert found.severity is Severity.INFO
    assert found.help == "produce it on `default` if that costs no overlap"


def test_output_of_a_side_stream_in_a_whole_graph(findings):
    text = OUTPUT.format(protection="")
    assert findings(text, "MEM103", whole_graph=True) == []
    [found] = findings(text, "MEM104", whole_graph=True)
    assert found.message == "output `y` is allocated on `side`"


def test_output_of_the_default_stream(findings):
    text = OUTPUT.format(protection="").replace("side make", "default make")
    assert findings(text, "MEM103") == findings(text, "MEM104") == []


def test_record_stream_in_a_whole_graph_grows_the_pool(findings):
    [found] = findings(life("record_stream B side"), "MEM105", whole_graph=True)
    assert found.severity is Severity.INFO
    assert found.message == "`record_stream` keeps `B` from reuse until the capture ends"
    assert found.notes == ("the graph's memory grows by up to 1.0 MiB",)
    assert found.span == Span("test.sched", 101, 1, 101, 10)


def test_record_stream_in_a_captured_part_grows_the_pool(findings):
    text = (
        life("record_stream B side")
        .replace("entry x", "entry x\nbegin default")
        .replace("exit c", "end default\nexit c")
    )
    assert len(findings(text, "MEM105")) == 1


def test_record_stream_without_capture_grows_nothing(findings):
    assert findings(life("record_stream B side"), "MEM105") == []


def test_inputs_are_at_home_on_default(build):
    """A scoped forward frees its inputs at their last use."""
    text = life().replace("free B", "free x").replace("mm: B", "mm: x")
    program = build(text)
    assert [d.message for d in check(program) if d.code == "MEM101"] == [
        "`x` is freed while `mm` on `side` may still use it"
    ]
    assert program.storages[0].kind is StorageKind.INPUT
    kept = replace(program, steps=tuple(s for s in program.steps if s.kind.value != "free"), required=())
    assert [d for d in check(kept) if d.code == "MEM101"] == []
