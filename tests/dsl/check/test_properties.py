"""Plans of random schedules over random traces, held against what they require; networkx and torch are the oracles."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plans import HEAD, plan_text, program_of
from random_cases import Case, cases, data_order, name_order

from streamsched.dsl.check.accesses import races
from streamsched.dsl.check.registry import check
from streamsched.dsl.diagnostic import Diagnostic, Severity, apply_edits
from streamsched.dsl.program.clocks import clocks
from streamsched.dsl.program.edit import without
from streamsched.dsl.program.steps import Program, StepKind
from streamsched.dsl.program.unroll import second_call, unroll
from streamsched.dsl.syntax.parser import parse
from streamsched.dsl.trace.model import NONE, OpKind

thorough = settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
brief = settings(thorough, max_examples=100)

SYNC = st.sampled_from(("auto", "explicit"))
TARGET = st.sampled_from(("npugraph_ex", "npu"))
ENTRY, EXIT = "entry", "exit"


def running(program: Program) -> dict[object, int]:
    """The running steps by their op; entry and exit by their names."""
    names = {StepKind.ENTRY: ENTRY, StepKind.EXIT: EXIT}
    return {names.get(step.kind, step.op): i for i, step in enumerate(program.steps) if step.runs}


def happens_before(program: Program) -> set[tuple[object, object]]:
    """All pairs of running steps that the program's steps order."""
    order, nodes = clocks(program), running(program)
    return {(a, b) for a, i in nodes.items() for b, j in nodes.items() if i != j and order.before(i, j)}


def required(case: Case, program: Program, *, data: bool) -> nx.DiGraph:
    """The order that a case asks for, closed: stream order, declared edges, entry, exit and, with `data`, the data."""
    graph = nx.DiGraph()
    nodes = running(program)
    graph.add_nodes_from(nodes)
    streams = dict.fromkeys(["default", *case.streams])
    for stream in streams:
        ops = [op for op in nodes if op not in (ENTRY, EXIT) and case.streams[op] == stream]
        graph.add_edges_from(pairwise([ENTRY, *ops, EXIT]))
    for before, after in case.edges:
        graph.add_edges_from((a, b) for a in before for b in after)
    if data:
        graph.add_edges_from(data_order(case.trace))
    return nx.transitive_closure_dag(graph)


def stream_of(case: Case, op: object) -> str:
    return case.streams[op] if isinstance(op, int) else "default"


def across(case: Case, pairs: object) -> set[tuple[object, object]]:
    """The pairs that lie on two streams."""
    return {(a, b) for a, b in pairs if stream_of(case, a) != stream_of(case, b)}


def errors(program: Program) -> list[Diagnostic]:
    return [d for d in check(program) if d.severity is Severity.ERROR]


@brief
@given(cases())
def test_issue_order_is_the_stable_topological_order(case: Case) -> None:
    graph = nx.DiGraph(data_order(case.trace) + name_order(case.trace))
    graph.add_nodes_from(op for op, node in enumerate(case.trace.ops) if node.kind is not OpKind.VIEW)
    for number, (before, after) in enumerate(case.edges + case.befores):
        graph.add_edges_from((op, f"order {number}") for op in before)
        graph.add_edges_from((f"order {number}", op) for op in after)
    wanted = nx.lexicographical_topological_sort(graph, key=lambda node: node if isinstance(node, int) else NONE)
    program = program_of(case.text(), case.trace)
    assert [step.op for step in program.steps if step.op != NONE] == [op for op in wanted if isinstance(op, int)]


@thorough
@given(cases(), SYNC, TARGET)
def test_happens_before_is_what_is_required_and_sync_is_minimal(case: Case, sync: str, target: str) -> None:
    program = program_of(case.text(f"sync {sync}"), case.trace, target)
    wanted = required(case, program, data=sync == "auto")
    assert happens_before(program) == set(wanted.edges)
    waits = [step for step in program.steps if step.kind is StepKind.WAIT]
    records = [step for step in program.steps if step.kind is StepKind.RECORD]
    assert len(waits) == len(across(case, nx.transitive_reduction(wanted).edges))
    assert len(records) == len({step.event for step in waits}) == len({step.event for step in records})


SYNCS = (StepKind.WAIT, StepKind.RECORD, StepKind.RECORD_STREAM)


@thorough
@given(cases(), SYNC, TARGET, st.sampled_from(("auto", "join")))
def test_any_step_of_sync_that_is_taken_out_is_missed(case: Case, sync: str, target: str, memory: str) -> None:
    program = program_of(case.text(f"sync {sync}", f"memory {memory}"), case.trace, target)
    before = {(d.code, d.message) for d in errors(program)}
    if sync == "auto":
        assert not [code for code, _ in before if not code.startswith("TGT")]
    for index, step in enumerate(program.steps):
        if step.kind in SYNCS:
            after = {(d.code, d.message) for d in errors(without(program, index))}
            assert after - before, f"nobody misses step {index}: {step.kind.value} {step.name}"


@st.composite
def thinned(draw: st.DrawFn) -> Program:
    """Programs from which some records, waits and record_streams were taken out."""
    case = draw(cases())
    program = program_of(case.text("sync auto"), case.trace, draw(TARGET))
    chance = draw(st.sampled_from((1, 3, 10)))
    for index in reversed(range(len(program.steps))):
        if program.steps[index].kind in SYNCS and draw(st.integers(0, chance)) == 0:
            program = without(program, index)
    return program


@thorough
@given(thinned())
def test_races_agree_with_the_sanitizer_of_torch(program: Program) -> None:
    """Allocations, of which it knows nothing, are left out on both sides."""
    sanitizer = pytest.importorskip("torch.cuda._sanitizer")
    kernels = tuple(step for step in program.steps if step.kind is not StepKind.ALLOC)
    program = replace(program, steps=kernels, required=())
    handler = sanitizer.EventHandler()
    steps: dict[int, int] = {}
    theirs: set[tuple[int, int, int]] = set()
    for index, step in enumerate(program.steps):
        if step.kind is StepKind.RECORD:
            handler._handle_event_record(step.event, step.stream)
        elif step.kind is StepKind.WAIT:
            handler._handle_event_wait(step.event, step.stream)
        elif step.runs:
            writes = set(step.writes)
            reads = set(step.reads) - writes
            aliases = {storage: [] for storage in reads | writes}
            found = handler._handle_kernel_launch(step.stream, reads, writes, writes, step.name, aliases)
            steps[handler.seq_num] = index
            theirs |= {(steps[e.previous_access.seq_num], index, e.data_ptr) for e in found}
    ours = {(race.before, race.after, race.storage) for race in races(program)}
    assert theirs <= ours
    assert {storage for *_, storage in theirs} == {storage for *_, storage in ours}


@brief
@given(thinned())
def test_a_race_across_calls_comes_from_a_missing_fork_or_join(program: Program) -> None:
    """That is why missing-edge looks at one call only."""
    twice = unroll(program)
    offset = second_call(program)
    between = [race for race in races(twice) if race.before < offset - 1 and race.after >= len(program.steps)]
    if between:
        assert {"CAP101", "CAP102"} & {d.code for d in check(program)}


@brief
@given(thinned())
def test_lifetimes_are_those_of_two_calls(program: Program) -> None:
    """missing-record-stream looks at the second call without unrolling; here the unrolled program is looked at."""
    twice = unroll(program)
    order = clocks(twice)
    missing: set[str] = set()
    for index, step in enumerate(twice.steps):
        if step.kind is not StepKind.FREE or twice.storages[step.storage].output:
            continue
        following = (i for i in range(index, len(twice.steps)) if twice.steps[i].runs)
        reuse = next((i for i in following if twice.steps[i].stream == step.stream), None)
        told = {s.stream for s in twice.steps[:index] if s.kind is StepKind.RECORD_STREAM and s.storage == step.storage}
        # For the streams that it was told of the allocator waits, and with them for all that they have waited for.
        last = {max(s.stream, 0): i for i, s in enumerate(twice.steps[:index]) if max(s.stream, 0) in told}
        for use in range(index):
            user = twice.steps[use]
            foreign = user.runs and user.stream != step.stream and step.storage in user.reads + user.writes
            covered = user.stream in told or any(order.before(use, i) for i in last.values())
            if foreign and not covered and reuse is not None and not order.before(use, reuse):
                missing.add(f"`{step.name}` for `{twice.streams[user.stream].name}`")
    found = [d for d in check(program) if d.code == "MEM101"]
    assert {re.sub(" is freed while .* on (`.*`) may .*", r" for \1", d.message) for d in found} == missing


@thorough
@given(cases())
def test_missing_edges_are_the_uncovered_waits_of_sync_auto(case: Case) -> None:
    explicit = program_of(case.text(), case.trace, "npu")
    covered = required(case, explicit, data=False)
    everything = required(case, explicit, data=True)
    uncovered = across(case, nx.transitive_reduction(everything).edges) - set(covered.edges)
    found = [d for d in check(explicit) if d.code == "ORD101"]
    assert len(found) == len(uncovered)
    automatic = program_of(case.text("sync auto"), case.trace, "npu")
    assert not [d for d in check(automatic) if d.code == "ORD101"]


@thorough
@given(cases())
def test_fixes_of_missing_edges_mend_them(case: Case) -> None:
    text = HEAD + case.text()
    left = None
    while True:
        parsed = parse(text, "test.sched")
        assert not [d for d in parsed.diagnostics if d.severity is Severity.ERROR], parsed.diagnostics
        program = plan_text(text.removeprefix(HEAD), case.trace, "npu").program
        assert program is not None
        found = [d for d in check(program) if d.code == "ORD101"]
        if not found:
            break
        assert left is None or len(found) < left, "a fix mends at least its own"
        left = len(found)
        assert found[0].fix is not None
        text = apply_edits(text, found[0].fix.edits)
    assert not errors(program)


@brief
@given(cases(befores=False))
def test_redundant_edges_can_be_taken_out_and_no_others(case: Case) -> None:
    def planned(text: str) -> tuple[list[int], set[tuple[object, object]], set[int]]:
        plan = plan_text(text, case.trace, "npu")
        assert plan.program is not None
        ops = [step.op for step in plan.program.steps if step.op != NONE]
        return ops, happens_before(plan.program), {d.span.line for d in plan.diagnostics if d.code == "SEL104"}

    found = [d for d in check(program_of(case.text(), case.trace, "npu")) if d.code == "ORD104"]
    edits = tuple(edit for d in found if d.fix for edit in d.fix.edits)
    assert len(edits) == len(found)
    lean = apply_edits(HEAD + case.text(), edits)
    ops, before, idle = planned(lean.removeprefix(HEAD))
    assert (ops, before) == planned(case.text())[:2]
    if set(name_order(case.trace)) - set(data_order(case.trace)):
        return  # a program does not know that an op must be issued behind what it only names
    for number, line in enumerate(lean.splitlines(), start=1):
        if " -> " in line and number not in idle:
            less = lean.replace(f"{line}\n", "\n", 1).removeprefix(HEAD)
            assert (ops, before) != planned(less)[:2], f"{line} is not reported, and not needed"
