"""PRF: what gains nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from plans import program_of
from traces import TraceBuilder

from streamsched.dsl.check.registry import check
from streamsched.dsl.diagnostic import Diagnostic, Severity
from streamsched.dsl.trace.model import NONE, Trace, Value


def found(code: str, text: str, trace: Trace, target: str | None = None) -> list[Diagnostic]:
    return [d for d in check(program_of(text, trace, target)) if d.code == code]


def sized(trace: Trace, size: int, **targets: str) -> Trace:
    """The trace with square matrices of half precision, and other targets for ops of the names given."""

    def square(value: Value) -> Value:
        return replace(value, shape=(size, size), stride=(size, 1), dtype="float16")

    ops = tuple(replace(op, target=targets.get(op.name, op.target)) for op in trace.ops)
    return replace(trace, ops=ops, values=tuple(map(square, trace.values)))


def fork_and_join() -> TraceBuilder:
    t = TraceBuilder()
    t.input("x", "w")
    t.kernel("first", "x", "w")
    t.kernel("left", "first", "w")
    t.kernel("right", "first", "w")
    t.kernel("last", "left", "right")
    return t


TEXT = 'device ascend910b3\nsync auto\nstream side\nvalue "right" on side\n'


def test_a_stream_that_never_overlaps() -> None:
    t = TraceBuilder()
    t.input("x")
    t.kernel("a", "x")
    t.kernel("b", "a")
    t.kernel("c", "b")
    [finding] = found("PRF101", 'sync auto\nstream side\nvalue "b" on side\n', t.build("c"))
    assert finding.message == "nothing runs beside what is placed on `side`"
    assert (finding.severity, finding.span.line) == (Severity.WARNING, 4)
    assert found("PRF101", 'sync auto\nstream side\nvalue "b" on side\n', t.build("c"), "cpu") == []


def test_a_stream_that_overlaps() -> None:
    assert found("PRF101", TEXT, fork_and_join().build("last")) == []
    ordered = f'{TEXT}value "left" -> value "right"\n'
    assert len(found("PRF101", ordered, fork_and_join().build("last"))) == 1


def test_running_beside_a_collective_is_overlap() -> None:
    t = TraceBuilder()
    t.input("x")
    t.collective("sum", "world", "x")
    t.kernel("side_work", "x")
    t.wait("done", "sum")
    t.kernel("merge", "done", "side_work")
    assert found("PRF101", 'sync auto\nstream s\nvalue "side_work" on s\n', t.build("merge")) == []


def test_a_window_that_is_shorter_than_its_syncs() -> None:
    [finding] = found("PRF102", TEXT, sized(fork_and_join().build("last"), 16))
    assert finding.message == "`right` on `side` takes about 1.0 us, and its 2 syncs 4 us"
    assert finding.severity is Severity.INFO
    assert found("PRF102", TEXT, sized(fork_and_join().build("last"), 4096)) == []
    assert found("PRF102", TEXT.replace("device ascend910b3\n", ""), sized(fork_and_join().build("last"), 16)) == []


def test_a_window_that_only_goes_on_behind_a_wait_is_not_judged() -> None:
    t = TraceBuilder()
    t.input("x")
    t.kernel("left", "x")
    t.kernel("right", "x")
    t.kernel("more", "right", "left")
    t.kernel("end", "more", "left")
    text = TEXT.replace('value "right"', "value { right, more }")
    assert [d.message.split()[0] for d in found("PRF102", text, sized(t.build("end"), 16))] == ["`more`"]


def test_the_work_of_a_window_adds_up() -> None:
    t = fork_and_join()
    t.kernel("r2", "right", "w")
    t.kernel("r3", "r2", "w")
    t.kernel("r4", "r3", "w")
    t.kernel("end", "last", "r4")
    text = TEXT.replace('value "right"', "value { right, r2, r3, r4 }")
    windows = [d.message for d in found("PRF102", text, sized(t.build("end"), 16))]
    assert windows == ["`right` to `r4` on `side` takes about 4.0 us, and its 3 syncs 6 us"]


@pytest.mark.parametrize(
    ("target", "unit"),
    [("aten.mm.default", "the cube cores"), ("aten.gelu.default", "the bandwidth of the memory")],
)
def test_both_sides_bound_by_one_unit(target: str, unit: str) -> None:
    trace = sized(fork_and_join().build("last"), 4096, left=target, right=target)
    [finding] = found("PRF103", TEXT, trace)
    assert finding.message == f"`right` on `side` and what runs beside it are both bound by {unit}"
    assert finding.severity is Severity.INFO


def test_sides_that_are_bound_by_different_units() -> None:
    trace = sized(fork_and_join().build("last"), 4096, left="aten.mm.default", right="aten.gelu.default")
    assert found("PRF103", TEXT, trace) == []


def test_small_ops_fill_no_unit() -> None:
    assert found("PRF103", TEXT, sized(fork_and_join().build("last"), 256)) == []


def test_streams_with_a_limit_are_left_out() -> None:
    trace = sized(fork_and_join().build("last"), 4096)
    assert found("PRF103", TEXT.replace("stream side", "stream side { cores aic 10 }"), trace) == []


def test_what_is_not_known_is_not_judged() -> None:
    trace = sized(fork_and_join().build("last"), 4096)
    dynamic = tuple(replace(v, shape=("n", 16)) if v.producer != NONE else v for v in trace.values)
    assert found("PRF103", TEXT, replace(trace, values=dynamic)) == []
    assert found("PRF102", TEXT, replace(trace, values=dynamic)) == []
