"""Collectives run on their group's stream: forked from where they are issued, joined where they are waited for."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import program_of, spell
from traces import TraceBuilder

from streamsched.dsl.check.registry import check
from streamsched.dsl.program import via
from streamsched.dsl.program.clocks import clocks
from streamsched.dsl.program.steps import Program, StepKind
from streamsched.dsl.trace.collectives import waits_of
from streamsched.dsl.trace.model import Trace

RUNS = (StepKind.LAUNCH,)
SYNCS = (StepKind.LAUNCH, StepKind.RECORD, StepKind.WAIT)


def reduced() -> Trace:
    """`a` is reduced to `y` while `b` is computed; then both are added."""
    made = TraceBuilder()
    made.input("x")
    made.kernel("a", "x")
    made.collective("sum", "tp", "a")
    made.wait("y", "sum")
    made.kernel("b", "x")
    made.kernel("c", "y", "b")
    return made.build("c")


def codes(program: Program) -> list[str]:
    return [d.code for d in check(program) if d.severity.value == "error"]


def test_a_collective_is_forked_from_its_issuer_and_joined_by_its_wait() -> None:
    program = program_of("", reduced())
    assert spell(program, *SYNCS) == [
        "default a",
        "default record sum_begin",
        "group tp wait sum_begin",
        "group tp sum",
        "group tp record sum_end",
        "default b",
        "default wait sum_end",
        "default y",
        "default c",
    ]
    assert [stream.of_group for stream in program.streams] == [False, True]
    assert via.explicit_events(program) == ()
    assert codes(program) == []


def test_the_wait_comes_right_before_the_first_use_of_the_result() -> None:
    program = program_of("", reduced())
    assert spell(program, *RUNS) == ["default a", "group tp sum", "default b", "default y", "default c"]


def test_placement_decides_where_a_collective_is_issued() -> None:
    text = 'stream comm\nvalue { sum, y } on comm\nvalue "a" -> value "sum"\nvalue "y" -> value "c"\n'
    program = program_of(text, reduced())
    assert spell(program, *SYNCS) == [
        "default a",
        "default record a_done",
        "comm wait a_done",
        "comm record sum_begin",
        "group tp wait sum_begin",
        "group tp sum",
        "group tp record sum_end",
        "default b",
        "comm wait sum_end",
        "comm y",
        "comm record sum_done",
        "default wait sum_done",
        "default c",
    ]
    [launch] = [step for step in program.steps if step.runs and step.name == "sum"]
    assert program.streams[launch.issuer].name == "comm"
    assert [storage.home for storage in program.storages if storage.name == "sum"] == [launch.issuer]
    assert codes(program) == []


def test_operands_live_until_the_wait() -> None:
    program = program_of("", reduced())
    steps = spell(program, StepKind.LAUNCH, StepKind.FREE)
    assert steps.index("default free a") > steps.index("default y")


def test_nothing_overwrites_an_operand_before_the_wait() -> None:
    made = TraceBuilder()
    made.input("x")
    made.kernel("a", "x")
    made.collective("sum", "tp", "a")
    made.wait("y", "sum")
    made.kernel("a_", inplace="a")
    made.kernel("c", "y", "a_")
    program = program_of('stream side\nvalue "a_" on side\nsync auto\n', made.build("c"))
    steps = spell(program, *SYNCS)
    assert steps.index("side wait sum_done") > steps.index("default y")
    assert codes(program) == []


def test_an_edge_from_a_collective_is_an_edge_from_its_wait() -> None:
    program = program_of('stream side\nvalue "b" on side\nnode "sum" -> value "b"\nvalue "b" -> value "c"\n', reduced())
    steps = spell(program, *SYNCS)
    assert steps.index("default y") < steps.index("default record sum_done") < steps.index("side wait sum_done")
    assert codes(program) == []


def two_groups(first: str, second: str) -> Trace:
    made = TraceBuilder()
    made.input("x")
    made.collective("one", first, "x")
    made.wait("one_there", "one")
    made.kernel("work", "x")
    made.collective("two", second, "work")
    made.wait("two_there", "two")
    made.kernel("both", "one_there", "two_there")
    return made.build("both")


def test_a_wait_is_not_put_off_beyond_a_collective_of_another_group() -> None:
    other = program_of("", two_groups("tp", "ep"))
    assert spell(other, *RUNS)[1:4] == ["default work", "default one_there", "group ep two"]
    same = program_of("", two_groups("tp", "tp"))
    assert spell(same, *RUNS)[1:4] == ["default work", "group tp two", "default one_there"]
    assert codes(other) == codes(same) == []


ASIDE = 'stream side\nvalue "work", value { two, two_there } on side\nvalue "two_there" -> value "both"\n'


@pytest.mark.parametrize("groups", [("tp", "ep"), ("tp", "tp")])
def test_collectives_on_two_streams_need_an_order(groups: tuple[str, str]) -> None:
    trace = two_groups(*groups)
    program = program_of(ASIDE, trace)
    [found] = [d for d in check(program) if d.code == "ORD107"]
    assert (
        found.message
        == f"nothing orders the collectives `one` of group tp on `default` and `two` of group {groups[1]} on `side`"
    )
    assert found.fix is not None
    fixed = ASIDE + "".join(edit.text for edit in found.fix.edits)
    assert codes(program_of(fixed, trace)) == []


@pytest.mark.parametrize("groups", [("tp", "ep"), ("tp", "tp")])
def test_sync_auto_orders_collectives(groups: tuple[str, str]) -> None:
    assert codes(program_of(ASIDE + "sync auto\n", two_groups(*groups))) == []


def test_a_collective_that_nothing_waits_for() -> None:
    made = TraceBuilder()
    made.input("x")
    made.collective("sum", "tp", "x")
    made.kernel("c", "x")
    program = program_of("", made.build("c"))
    [found] = [d for d in check(program) if d.code == "ORD108"]
    assert found.message == "nothing waits for the collective `sum` of group tp on `default`"
    assert "CAP102" not in codes(program)


@st.composite
def communicating(draw: st.DrawFn) -> tuple[str, Trace]:
    """A random trace with collectives of two groups, and a schedule with `sync auto` that places its ops at random."""
    made = TraceBuilder()
    made.input("x")
    values = ["x"]
    placed: list[str] = []
    for number in range(draw(st.integers(2, 8))):
        name = f"v{number}"
        reads = draw(st.lists(st.sampled_from(values), min_size=1, max_size=2, unique=True))
        stream = draw(st.sampled_from(["", "s1", "s2"]))
        if draw(st.booleans()):
            made.collective(f"c{number}", draw(st.sampled_from(["tp", "ep"])), *reads)
            made.wait(name, f"c{number}")
            placed += [f"value {{ c{number}, {name} }} on {stream}"] if stream else []
        else:
            made.kernel(name, *reads)
            placed += [f'value "{name}" on {stream}'] if stream else []
        values.append(name)
    return "stream s1, s2\nsync auto\n" + "\n".join(placed) + "\n", made.build(values[-1])


@settings(max_examples=60, deadline=None)
@given(communicating())
def test_the_result_of_a_collective_is_used_behind_its_end(case: tuple[str, Trace]) -> None:
    text, trace = case
    program = program_of(text, trace)
    assert codes(program) == []
    order = clocks(program)
    place = {step.op: index for index, step in enumerate(program.steps) if step.runs}
    for collective, (wait,) in waits_of(trace).items():
        assert order.before(place[collective], place[wait])
        made = set(trace.ops[wait].writes)
        for op, index in place.items():
            if op > wait and made & set(trace.ops[op].reads):
                assert order.before(place[collective], index)
