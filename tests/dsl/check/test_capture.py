"""CAP: forks, joins, and what a capture cannot record."""

from __future__ import annotations

from dataclasses import replace

from streamsched.dsl.check.registry import check
from streamsched.dsl.diagnostic import Severity, Span
from streamsched.dsl.trace.model import Literal, ModuleCall, Op, OpKind, Trace

FORKED = """
    entry x
    record start default
    wait start side
    side a: x -> a @a
    side b: a -> b @b
    record done side
    wait done default
    exit b
"""


def test_forked_and_joined(findings):
    assert findings(FORKED, "CAP101") == findings(FORKED, "CAP102") == []


def test_unforked_stream(findings):
    [found] = findings(FORKED.replace("wait start side", ""), "CAP101")
    assert found.severity is Severity.ERROR
    assert found.message == "`side` is not forked: `a` does not wait for the entry of forward()"
    assert found.span == Span("test.sched", 101, 1, 101, 10)
    assert [r.span.line for r in found.related] == [1, 3]
    assert found.help == (
        "record an event on `default` after the entry of forward(), and let `side` wait for it before `a`"
    )


def test_a_fork_after_the_first_op_is_too_late(findings):
    late = FORKED.replace("    wait start side\n", "").replace("    side b", "    wait start side\n    side b")
    assert len(findings(late, "CAP101")) == 1


def test_op_without_inputs_needs_a_fork_too(findings):
    assert len(findings(FORKED.replace("a: x ->", "a: ->").replace("wait start side", ""), "CAP101")) == 1


def test_fork_through_another_stream(findings):
    text = """
        entry x
        record start default
        wait start one
        record passed one
        wait passed two
        two a: x -> a
        record done two
        wait done default
        exit a
    """
    assert findings(text, "CAP101") == []
    assert len(findings(text.replace("wait start one", ""), "CAP101")) == 1


def test_unjoined_stream(findings):
    [found] = findings(FORKED.replace("wait done default", ""), "CAP102")
    assert found.severity is Severity.ERROR
    assert found.message == "`side` is not joined: the exit of forward() does not wait for `b`"
    assert found.span == Span("test.sched", 102, 1, 102, 10)
    assert [r.span.line for r in found.related] == [5, 7]


def test_a_join_before_the_last_op_is_too_early(findings):
    early = FORKED.replace("    record done side\n", "").replace("    side b", "    record done side\n    side b")
    [found] = findings(early, "CAP102")
    assert "does not wait for `b`" in found.message


CAPTURED = """
    entry x
    default eager: x -> e
    {before}
    begin main
    {inside}
    main a: x -> a
    side b: a -> b
    {join}
    end main
    exit x
"""


def captured(before="", inside="", join=""):
    return CAPTURED.format(before=before, inside=inside, join=join)


def codes(findings, text):
    """The findings about the capture, which say so; the forward around it has its own."""
    return sorted(d.code for d in findings(text) if d.code.startswith("CAP") and "capture" in d.message)


def test_capture_that_forks_and_joins(findings):
    text = captured(inside="record e main\n    wait e side", join="record f side\n    wait f main")
    assert codes(findings, text) == []


def test_a_fork_from_before_the_capture_does_not_count(findings):
    text = captured(before="record e main\n    wait e side", join="record f side\n    wait f main")
    assert codes(findings, text) == ["CAP101"]
    [message] = [d.message for d in findings(text, "CAP101") if "capture" in d.message and "`side`" in d.message]
    assert message == "`side` is not forked: `b` does not wait for the begin of the capture"


def test_an_event_from_before_the_capture_does_not_fork(findings):
    text = captured(before="record e main", inside="wait e side", join="record f side\n    wait f main")
    assert codes(findings, text) == ["CAP101"]


def test_capture_that_does_not_join(findings):
    text = captured(inside="record e main\n    wait e side")
    assert codes(findings, text) == ["CAP102"]


def with_trace(program, **flags):
    """`program` with a trace whose ops all have the given flags."""
    count = 1 + max(step.op for step in program.steps)
    op = Op("op", "aten.op.default", OpKind.KERNEL, (), (), Literal("None"), (), (), 0, **flags)
    call = ModuleCall("", 0, "", "model:M", -1, 0, count, (), (), Literal("None"))
    trace = Trace((), "", "", "model:M", (), (), Literal("None"), (op,) * count, (), (), (call,), (), (), (), ())
    return replace(program, trace=trace)


def test_host_sync_step_in_a_capture(findings, build):
    text = FORKED.replace("side b", "sync side\n    side b")
    [found] = findings(text, "CAP103", whole_graph=True)
    assert found.severity is Severity.ERROR
    assert found.message == "the host waits for `side` inside a captured region"
    assert [r.span.line for r in found.related] == [5]
    [found] = findings(text.replace("sync side", "sync *"), "CAP103", whole_graph=True)
    assert found.message == "the host waits for all streams inside a captured region"


def test_host_sync_without_capture(findings):
    assert findings(FORKED.replace("side b", "sync side\n    side b"), "CAP103") == []


def test_host_sync_before_a_capture(findings):
    assert findings(captured(before="sync main"), "CAP103") == []
    assert len(findings(captured(inside="sync main"), "CAP103")) == 1


def test_op_whose_result_the_host_waits_for(build):
    program = with_trace(build(FORKED, whole_graph=True), host_sync=True)
    found = [d for d in check(program) if d.code == "CAP103"]
    assert [d.message for d in found] == [
        "the host waits for the result of `a` on `side` inside a captured region",
        "the host waits for the result of `b` on `side` inside a captured region",
    ]
    assert found[0].span == Span("test.sched", 101, 1, 101, 10)
    eager = replace(program, whole_graph=False)
    assert [d for d in check(eager) if d.code == "CAP103"] == []


def test_random_op_in_a_capture(build):
    program = with_trace(build(FORKED, whole_graph=True), random=True)
    found = [d for d in check(program) if d.code == "CAP104"]
    assert [d.severity for d in found] == [Severity.INFO] * 2
    assert found[0].message == "`a` on `side` draws random numbers inside a captured region"
    assert [d for d in check(replace(program, whole_graph=False)) if d.code == "CAP104"] == []
