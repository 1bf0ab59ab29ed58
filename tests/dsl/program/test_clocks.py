from __future__ import annotations

from dataclasses import replace

import pytest

from streamsched.dsl.diagnostic import Span
from streamsched.dsl.program.clocks import clocks
from streamsched.dsl.program.edit import without
from streamsched.dsl.program.steps import (
    Hazard,
    Order,
    OrderKind,
    Program,
    Reason,
    Step,
    StepKind,
    Storage,
    Stream,
)
from streamsched.dsl.program.unroll import second_call, unroll
from streamsched.dsl.trace.model import StorageKind

SPAN = Span("test.sched", 1, 1, 1, 1)


def launch(stream: int, name: str, reads: tuple[int, ...] = (), writes: tuple[int, ...] = ()) -> Step:
    return Step(StepKind.LAUNCH, stream, name, reads, writes)


def record(stream: int, event: int) -> Step:
    return Step(StepKind.RECORD, stream, f"e{event}", event=event)


def wait(stream: int, event: int) -> Step:
    return Step(StepKind.WAIT, stream, f"e{event}", event=event)


def program(*steps: Step, required: tuple[Order, ...] = ()) -> Program:
    streams = (Stream("default"), Stream("s1"), Stream("s2"))
    storages = (Storage("x", StorageKind.INPUT), Storage("a", StorageKind.OP, home=1, output=True))
    return Program("test", "npu", streams, storages, ("e0", "e1"), (), steps, required, SPAN)


def test_stream_order_is_happens_before() -> None:
    c = clocks(program(launch(1, "a"), launch(1, "b"), launch(2, "c")))
    assert c.before(0, 1)
    assert not c.before(1, 0)
    assert not c.before(0, 2)


def test_a_wait_orders_what_was_launched_before_the_record() -> None:
    c = clocks(program(launch(1, "a"), record(1, 0), launch(1, "b"), wait(2, 0), launch(2, "c")))
    assert c.before(0, 4)
    assert not c.before(2, 4)


def test_a_wait_before_the_record_orders_nothing() -> None:
    c = clocks(program(launch(1, "a"), wait(2, 0), launch(2, "c"), record(1, 0)))
    assert not c.before(0, 2)


def test_order_passes_through_a_third_stream() -> None:
    c = clocks(
        program(launch(0, "a"), record(0, 0), wait(1, 0), launch(1, "b"), record(1, 1), wait(2, 1), launch(2, "c"))
    )
    assert c.before(0, 6)


@pytest.mark.parametrize("stream", [1, -1])
def test_the_host_waits_for_a_stream_before_it_issues_more(stream: int) -> None:
    sync = Step(StepKind.HOST_SYNC, stream, "synchronize")
    c = clocks(program(launch(1, "a"), launch(2, "b"), sync, launch(0, "c")))
    assert c.before(0, 3)
    assert c.before(1, 3) == (stream == -1)


def test_without_a_step_everything_else_keeps_its_meaning() -> None:
    order = Order(OrderKind.EDGE, "a -> c", (0,), (4,))
    waiting = replace(wait(2, 0), reasons=(Reason(0, 4, order=0), Reason(0, 4, Hazard.RAW, 0)))
    full = program(launch(1, "a"), record(1, 0), launch(1, "b"), waiting, launch(2, "c"), required=(order,))
    thinned = without(full, 2)
    assert [step.name for step in thinned.steps] == ["a", "e0", "e0", "c"]
    assert thinned.required == (replace(order, after=(3,)),)
    assert thinned.steps[2].reasons == (Reason(0, 3, order=0), Reason(0, 3, Hazard.RAW, 0))
    gone = without(full, 4)
    assert gone.required == ()
    assert gone.steps[3].reasons == ()


def test_unrolled_twice_the_second_call_has_fresh_storages_and_events() -> None:
    entry = Step(StepKind.ENTRY, 0, "entry", writes=(0,))
    leave = Step(StepKind.EXIT, 0, "exit", reads=(1,))
    order = Order(OrderKind.EXIT, "exit", (1,), (4,))
    once = program(entry, launch(1, "a", (0,), (1,)), record(1, 0), wait(0, 0), leave, required=(order,))
    twice = unroll(once)
    second = second_call(once)
    assert [step.kind for step in twice.steps[5:7]] == [StepKind.LAUNCH, StepKind.FREE]
    assert twice.steps[5].reads == (1,)
    assert twice.steps[second].writes == (0,)
    assert twice.steps[second + 1].writes == (2,)
    assert twice.steps[second + 3].event == 2
    assert twice.required[1] == Order(OrderKind.EXIT, "exit", (second + 1,), (second + 4,))
