from __future__ import annotations

import pytest
from plans import program_of
from traces import TraceBuilder

from streamsched.dsl.program.edit import without
from streamsched.dsl.program.steps import Program, StepKind
from streamsched.verify.orders import execution, orders, seeded, side_first, side_last
from streamsched.verify.tasks import TaskKind, tasks_of


@pytest.fixture
def branch() -> Program:
    t = TraceBuilder()
    t.input("x")
    t.kernel("a", "x")
    t.kernel("b", "a")
    t.kernel("c", "x")
    t.kernel("d", "b")
    return program_of('stream s\nvalue "b" on s\nvalue "a" -> value "b" -> value "d"\n', t.build("c", "d"), "npu")


def names(program: Program, order: str, calls: int = 1) -> list[str]:
    tasks = tasks_of(program, calls)
    chosen = {"first": side_first(), "last": side_last()}[order]
    ran = [tasks[i] for i in execution(tasks, chosen)]
    return [f"{'overwrite ' if t.kind is TaskKind.OVERWRITE else ''}{program.steps[t.step].name}" for t in ran]


def test_side_streams_run_as_early_or_as_late_as_their_waits_allow(branch: Program) -> None:
    assert [n for n in names(branch, "first") if "overwrite" not in n] == ["entry", "a", "b", "c", "d", "exit"]
    assert [n for n in names(branch, "last") if "overwrite" not in n] == ["entry", "a", "c", "b", "d", "exit"]


def test_a_recorded_block_is_overwritten_when_its_user_is_done(branch: Program) -> None:
    assert [s.name for s in branch.steps if s.kind is StepKind.RECORD_STREAM] == ["a"]
    assert names(branch, "last").index("overwrite a") == names(branch, "last").index("b") + 1


def test_a_recorded_block_is_safe_until_its_home_stream_has_waited_for_the_other_user() -> None:
    t = TraceBuilder()
    t.input("x")
    t.kernel("a", "x")
    t.kernel("b", "a")
    t.kernel("c", "a")
    t.kernel("d", "c")
    t.kernel("e", "b", "d")
    program = program_of('stream s, r\nvalue "b" on s\nvalue "c" on r\nsync auto\n', t.build("e"), "npu")
    recorded = [s for s in program.steps if s.kind is StepKind.RECORD_STREAM]
    assert [(s.name, program.streams[s.stream].name) for s in recorded] == [("a", "s")]
    for order in orders(10, 1):
        tasks = tasks_of(program, 1)
        ran = [(tasks[i].kind, program.steps[tasks[i].step].name) for i in execution(tasks, order)]
        overwritten = ran.index((TaskKind.OVERWRITE, "a"))
        assert overwritten > ran.index((TaskKind.RUN, "b")) and overwritten > ran.index((TaskKind.RUN, "c")), order.name


def test_an_unrecorded_block_goes_to_the_next_task_on_its_home_stream(branch: Program) -> None:
    record = next(i for i, s in enumerate(branch.steps) if s.kind is StepKind.RECORD_STREAM)
    thinned = without(branch, record)
    owner = next(task for task in tasks_of(thinned, 1) if task.overwrites)
    assert (thinned.steps[owner.step].name, thinned.steps[owner.overwrites[0][1]].name) == ("c", "a")


def test_a_wait_without_its_record_orders_nothing(branch: Program) -> None:
    record = next(i for i, s in enumerate(branch.steps) if s.kind is StepKind.RECORD)
    assert names(without(branch, record), "first")[0] == "b"


def test_a_second_call_follows_the_first_on_every_stream(branch: Program) -> None:
    ran = [n for n in names(branch, "first", 2) if "overwrite" not in n]
    assert ran == ["entry", "a", "b", "c", "d", "exit"] * 2


def test_every_order_runs_every_task_once_and_after_what_it_waits_for(branch: Program) -> None:
    tasks = tasks_of(branch, 3)
    for order in orders(20, 1):
        ran = list(execution(tasks, order))
        assert sorted(ran) == list(range(len(tasks)))
        place = {task: i for i, task in enumerate(ran)}
        assert all(place[before] < place[i] for i, task in enumerate(tasks) for before in task.after)


def test_a_seed_gives_the_same_order_again(branch: Program) -> None:
    tasks = tasks_of(branch, 3)
    assert list(execution(tasks, seeded(5))) == list(execution(tasks, seeded(5)))
