"""Two calls of a program in a row, so that what one call leaves behind for the next can be checked."""

from __future__ import annotations

from dataclasses import replace

from streamsched.dsl.program.steps import DEFAULT, Order, Program, Reason, Step, StepKind
from streamsched.dsl.trace.model import NONE, StorageKind


def unroll(program: Program) -> Program:
    """`program` called twice, with a kernel of the caller on `default` in between.

    The caller reads every output of the first call; afterwards it drops them. Inputs, parameters, buffers and the
    order-only storages (generators and the like) are the same in both calls; what the program allocates is fresh in
    the second. A step `i` of the first call is step `i + second_call(program)` in the second.
    """
    assert not program.parts, "a recording has its calls in it"
    size = len(program.storages)
    fresh = {i: size + n for n, i in enumerate(_allocated(program))}
    outputs = tuple(i for i, storage in enumerate(program.storages) if storage.output)
    caller = Step(StepKind.LAUNCH, DEFAULT, "the caller's kernel", reads=outputs)
    dropped = tuple(
        Step(StepKind.FREE, program.storages[i].home, program.storages[i].name, storage=i)
        for i in outputs
        if i in fresh
    )
    offset = second_call(program)
    assert offset == len(program.steps) + 1 + len(dropped)
    second = tuple(_shift(step, fresh, len(program.events), offset, len(program.required)) for step in program.steps)
    return replace(
        program,
        storages=program.storages + tuple(program.storages[i] for i in fresh),
        events=program.events * 2,
        steps=(*program.steps, caller, *dropped, *second),
        required=program.required + tuple(_shift_order(order, offset) for order in program.required),
    )


def second_call(program: Program) -> int:
    """How far the second call's steps lie behind the first's in `unroll(program)`."""
    dropped = sum(program.storages[i].output for i in _allocated(program))
    return len(program.steps) + 1 + dropped


def _allocated(program: Program) -> list[int]:
    """The storages that the program itself allocates."""
    return [i for i, storage in enumerate(program.storages) if storage.kind is StorageKind.OP]


def _shift(step: Step, fresh: dict[int, int], events: int, offset: int, orders: int) -> Step:
    """`step` as the second call issues it."""
    if step.event != NONE:
        reasons = tuple(
            Reason(
                old.before + offset,
                old.after + offset,
                old.hazard,
                fresh.get(old.storage, old.storage),
                NONE if old.order == NONE else old.order + orders,
            )
            for old in step.reasons
        )
        return replace(step, event=step.event + events, reasons=reasons)
    return replace(
        step,
        reads=tuple([fresh.get(i, i) for i in step.reads]),
        writes=tuple([fresh.get(i, i) for i in step.writes]),
        storage=fresh.get(step.storage, step.storage),
    )


def _shift_order(order: Order, offset: int) -> Order:
    return replace(
        order,
        before=tuple([i + offset for i in order.before]),
        after=tuple([i + offset for i in order.after]),
    )
