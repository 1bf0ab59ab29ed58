"""Programs made from programs, with all ids remapped."""

from __future__ import annotations

from dataclasses import replace

from streamsched.dsl.program.steps import Order, Program, Reason


def without(program: Program, step: int) -> Program:
    """`program` with one step left out. A required order that loses all steps of one end is left out too."""

    def moved(index: int) -> int:
        return index - (index > step)

    def kept(steps: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(moved(index) for index in steps if index != step)

    orders: list[Order] = []
    renumbered: dict[int, int] = {}
    for index, order in enumerate(program.required):
        before, after = kept(order.before), kept(order.after)
        if before and after:
            renumbered[index] = len(orders)
            orders.append(replace(order, before=before, after=after))

    def reason(old: Reason) -> Reason | None:
        if step in (old.before, old.after) or (old.hazard is None and old.order not in renumbered):
            return None
        order = renumbered.get(old.order, old.order)
        return replace(old, before=moved(old.before), after=moved(old.after), order=order)

    steps = tuple(
        replace(old, reasons=tuple(new for r in old.reasons if (new := reason(r)))) if old.reasons else old
        for index, old in enumerate(program.steps)
        if index != step
    )
    return replace(program, steps=steps, required=tuple(orders))
