from __future__ import annotations

from dataclasses import replace

import pytest
from plans import plan_text, program_of, spell
from traces import TraceBuilder

from streamsched.dsl.check.registry import check
from streamsched.dsl.program.steps import Hazard, OrderKind, StepKind
from streamsched.dsl.trace.model import Scope, Trace


@pytest.fixture
def documented() -> Trace:
    """The multi-stream example of npugraph_ex's documentation."""
    t = TraceBuilder()
    t.input("in1", "in2", "in3", "in4")
    t.kernel("add_result", "in1", "in2")
    t.kernel("B", "in3", "in4")
    t.kernel("mm_result", "B", "in4")
    t.kernel("mm1", "in3", "in4")
    t.kernel("add2", "in3", "in4")
    return t.build("add_result", "mm1", "mm_result", "add2")


DOCUMENTED = """\
stream stream1, stream2
value "mm_result" on stream1
value "add2" on stream2
value { add_result, B } -> value "mm_result" -> value "add2"
"""


def test_documented_example(documented: Trace) -> None:
    assert spell(program_of(DOCUMENTED, documented)) == [
        "default entry",
        "default add_result",
        "default B",
        "default record B_done",
        "stream1 wait B_done",
        "stream1 mm_result",
        "stream1 record mm_result_done",
        "stream1 record_stream B",
        "default free B",
        "default mm1",
        "stream2 wait mm_result_done",
        "stream2 add2",
        "stream2 record add2_done",
        "default wait add2_done",
        "default exit",
    ]


def test_outputs_made_on_side_streams_are_recorded_on_default_outside_one_graph(documented: Trace) -> None:
    program = program_of(DOCUMENTED, documented, "npu")
    assert spell(program, StepKind.RECORD_STREAM) == [
        "stream1 record_stream B",
        "default record_stream mm_result",
        "default record_stream add2",
    ]
    assert program.steps[-1].kind is StepKind.EXIT


def test_no_record_stream_where_the_home_stream_waits_before_it_allocates_again() -> None:
    t = TraceBuilder()
    t.input("x")
    t.kernel("a", "x")
    t.kernel("b", "a")
    t.kernel("c", "b")
    program = program_of('stream s\nvalue "b" on s\nvalue "a" -> value "b" -> value "c"\n', t.build("c"))
    assert spell(program, StepKind.RECORD_STREAM) == []
    assert spell(program, StepKind.FREE) == ["default free a", "s free b"]


def test_memory_join_waits_instead_of_recording(documented: Trace) -> None:
    program = program_of("memory join\n" + DOCUMENTED, documented)
    assert spell(program, StepKind.RECORD_STREAM) == []
    steps = spell(program)
    assert steps[steps.index("default mm1") - 1] == "default wait mm_result_done"


def test_one_record_stream_is_enough_where_its_stream_has_waited_for_the_other_use() -> None:
    t = TraceBuilder()
    t.input("x")
    t.kernel("a", "x")
    t.kernel("b", "a")
    t.kernel("c", "b")
    t.kernel("d", "a")
    t.kernel("e", "x")
    text = 'sync auto\nstream s1, s2\nvalue "b" on s1\nvalue { c, d } on s2\n'
    recorded = spell(program_of(text, t.build("e")), StepKind.RECORD_STREAM)
    assert [step for step in recorded if step.endswith(" a")] == ["s2 record_stream a"]


def test_memory_record_stream_records_every_foreign_use() -> None:
    t = TraceBuilder()
    t.input("x")
    t.kernel("a", "x")
    t.kernel("b", "a")
    t.kernel("c", "b")
    text = 'memory record_stream\nstream s\nvalue "b" on s\nvalue "a" -> value "b" -> value "c"\n'
    assert spell(program_of(text, t.build("c")), StepKind.RECORD_STREAM) == [
        "s record_stream a",
        "default record_stream b",
    ]


def test_sync_auto_infers_the_edges(documented: Trace) -> None:
    text = 'sync auto\nstream s\nvalue "mm_result" on s\n'
    program = program_of(text, documented)
    assert spell(program, StepKind.WAIT) == ["s wait B_done", "default wait mm_result_done"]
    wait = next(step for step in program.steps if step.kind is StepKind.WAIT)
    (reason,) = wait.reasons
    assert (reason.hazard, program.storages[reason.storage].name) == (Hazard.RAW, "B")
    assert program.steps[reason.before].name == "B"
    assert program.steps[reason.after].name == "mm_result"


def test_explicit_sync_holds_forks_joins_and_declared_edges_only(documented: Trace) -> None:
    program = program_of('stream s\nvalue "mm_result" on s\n', documented)
    assert spell(program, StepKind.WAIT) == ["s wait inputs_ready", "default wait mm_result_done"]
    assert [order.kind for order in program.required] == [OrderKind.ENTRY, OrderKind.EXIT]


def test_an_edge_between_groups_is_one_order_not_pairs() -> None:
    t = TraceBuilder()
    t.input("x")
    for i in range(50):
        t.kernel(f"a{i}", "x")
    for i in range(50):
        t.kernel(f"b{i}", "x")
    text = "stream s\ngroup a = value {{ {} }}\ngroup b = value {{ {} }}\nb on s\na -> b\n".format(
        ", ".join(f"a{i}" for i in range(50)), ", ".join(f"b{i}" for i in range(50))
    )
    program = program_of(text, t.build("a0", "b0"))
    assert spell(program, StepKind.WAIT) == ["s wait a_done", "default wait b_done"]
    edge = program.required[0]
    assert (edge.kind, edge.label, len(edge.before), len(edge.after)) == (OrderKind.EDGE, "a -> b", 50, 50)


def test_before_orders_the_host_only() -> None:
    t = TraceBuilder()
    t.input("x")
    t.kernel("gate", "x")
    t.kernel("shared", "x")
    t.kernel("merged", "gate", "shared")
    text = 'stream s\nvalue "shared" on s\nvalue "shared" before value "gate"\nvalue "shared" -> value "merged"\n'
    program = program_of(text, t.build("merged"))
    assert spell(program, StepKind.LAUNCH) == ["s shared", "default gate", "default merged"]
    assert spell(program, StepKind.WAIT) == ["s wait inputs_ready", "default wait shared_done"]


def test_an_edge_may_turn_program_order_round_where_no_data_flows() -> None:
    t = TraceBuilder()
    t.input("x")
    t.kernel("a", "x")
    t.kernel("b", "x")
    program = program_of('stream s\nvalue "b" on s\nvalue "b" -> value "a"\n', t.build("a", "b"))
    assert spell(program, StepKind.LAUNCH, StepKind.WAIT) == [
        "s wait inputs_ready",
        "s b",
        "default wait b_done",
        "default a",
    ]


def test_a_write_follows_the_reads_of_a_view() -> None:
    t = TraceBuilder()
    t.input("x")
    t.kernel("a", "x")
    t.view("v", "a")
    t.kernel("r", "v")
    t.kernel("w", inplace="a")
    program = program_of('sync auto\nstream s\nvalue "r" on s\n', t.build("r", "w"))
    reasons = [reason for step in program.steps for reason in step.reasons]
    assert (Hazard.WAR, "a") in [(r.hazard, program.storages[r.storage].name) for r in reasons if r.hazard]


def test_alias_or_copy_lies_in_both_storages() -> None:
    t = TraceBuilder()
    t.input("x")
    t.kernel("a", "x")
    t.kernel("c", copies="a")
    t.kernel("w", inplace="c")
    program = program_of('sync auto\nstream s\nvalue "w" on s\n', t.build("w"))
    names = {program.storages[r.storage].name for step in program.steps for r in step.reasons if r.hazard is Hazard.RAW}
    assert names == {"a", "c"}


def test_random_ops_keep_program_order() -> None:
    t = TraceBuilder()
    t.input("x")
    t.kernel("a", "x", random=True)
    t.kernel("b", "x", random=True)
    planned = plan_text('stream s\nvalue "b" on s\nvalue "b" -> value "a"\n', t.build("a", "b"))
    assert planned.program is None
    assert [d.code for d in planned.diagnostics] == ["ORD202"]


def test_an_allocation_is_ordered_before_its_first_use_elsewhere() -> None:
    t = TraceBuilder()
    t.input("x")
    t.empty("buffer")
    t.kernel("filled", "x", inplace="buffer")
    program = program_of('sync auto\nstream s\nvalue "filled" on s\n', t.build("filled"))
    assert spell(program)[:5] == [
        "default entry",
        "default alloc buffer",
        "default record buffer_done",
        "s wait buffer_done",
        "s filled",
    ]


def test_a_cycle_of_edges_names_them_all() -> None:
    t = TraceBuilder()
    t.input("x")
    t.kernel("a", "x")
    t.kernel("b", "x")
    planned = plan_text('value "a" -> value "b"\nvalue "b" -> value "a"\n', t.build("a", "b"))
    (found,) = planned.diagnostics
    assert found.code == "ORD201"
    assert found.span.line == 3
    assert [related.span.line for related in found.related] == [4]


def test_an_edge_against_the_data_shows_the_path() -> None:
    t = TraceBuilder()
    t.input("x")
    t.kernel("a", "x")
    t.kernel("m", "a")
    t.kernel("b", "m")
    planned = plan_text('value "b" -> value "a"\n', t.build("b"))
    (found,) = planned.diagnostics
    assert found.code == "ORD202"
    assert found.notes == ("the data demands: `a` -> `m` -> `b`",)
    assert [(r.span.file, r.span.line) for r in found.related] == [("model.py", 10), ("model.py", 12)]


# Modules in scope


@pytest.fixture
def part() -> Trace:
    """A module that uses its input on two streams, in scope."""
    t = TraceBuilder()
    t.input("x", "y")
    t.kernel("a", "y")
    t.kernel("b", "x")
    t.kernel("c", "a")
    t.kernel("d", "c", "b")
    return replace(t.build("d", "y"), scope=Scope("layers.*", "", ("layers.0", "layers.1")))


def test_inputs_of_a_part_are_freed_at_their_last_use(part: Trace) -> None:
    """The caller drops `x` when `b` was issued: what `default` does next may get its memory. `y` is returned."""
    text = 'stream s\nvalue "b" on s\nvalue "b" -> value "d"\n'
    program = program_of(text, part, "npu")
    steps = spell(program)
    assert [step for step in steps if step.endswith((" x", " y"))] == [
        "s record_stream x",
        "default free x",
    ]
    assert steps.index("default free x") > steps.index("s record_stream x") > steps.index("s b")
    whole = program_of(text, replace(part, scope=None), "npu")
    assert [step for step in spell(whole) if step.endswith(" x")] == []


def test_inputs_of_a_part_that_are_waited_for_are_safe(part: Trace) -> None:
    program = program_of('stream s\nvalue "b" on s\nvalue "b" -> value "a"\n', part, "npu")
    assert "default free x" in spell(program)
    assert spell(program, StepKind.RECORD_STREAM) == []


def test_a_graph_that_holds_a_part_has_no_outputs_of_its_own(part: Trace) -> None:
    text = 'stream s\nvalue "d" on s\nvalue { b, c } -> value "d"\n'
    program = program_of(text, part)
    assert (program.target, program.whole_graph, program.inside_graph) == ("npugraph_ex", False, True)
    assert "default record_stream d" in spell(program)
    assert not program_of(text, part, "npu").inside_graph
    codes = {d.code for d in check(program)}
    assert "MEM105" in codes, "the record_stream is in a captured graph"
    assert not {"MEM103", "MEM101"} & codes
    whole = program_of(text, replace(part, scope=None))
    assert (whole.whole_graph, whole.inside_graph) == (True, False)
    assert spell(whole, StepKind.RECORD_STREAM) == []
