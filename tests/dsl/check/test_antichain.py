"""The heaviest set of ops that may run at once, against brute force over all sets."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from itertools import combinations

import pytest

from streamsched.dsl.check.antichain import Node, heaviest
from streamsched.dsl.check.chains import Chains, Weight
from streamsched.dsl.diagnostic import Span
from streamsched.dsl.program.clocks import Clocks, clocks
from streamsched.dsl.program.steps import Program, Step, StepKind, Stream

PROGRAMS = int(os.environ.get("STREAMSCHED_ANTICHAINS", "120"))
"""How many random programs; 500 where it matters."""

CAPACITY = 48


def random_program(draw: random.Random) -> Program:
    """Up to 12 kernels on up to 6 streams, with records and waits between them."""
    streams = draw.randint(2, 6)
    steps = [Step(StepKind.ENTRY, 0, "entry")]
    events = 0
    often = draw.choice([0, 0.2, 0.5, 0.8])
    for number in range(draw.randint(2, 12)):
        steps.append(Step(StepKind.LAUNCH, draw.randrange(streams), f"op{number}"))
        if draw.random() < often:
            before, after = draw.sample(range(streams), 2)
            steps.append(Step(StepKind.RECORD, before, f"e{events}", event=events))
            steps.append(Step(StepKind.WAIT, after, f"e{events}", event=events))
            events += 1
    names = ("default", *(f"s{number}" for number in range(1, streams)))
    return Program(
        name="random",
        target="npu",
        streams=tuple(map(Stream, names)),
        storages=(),
        events=tuple(f"e{number}" for number in range(events)),
        groups=(),
        steps=tuple(steps),
        required=(),
        span=Span("f", 1, 1, 1, 1),
    )


def random_weights(program: Program, draw: random.Random) -> list[Weight]:
    kernels = [index for index, step in enumerate(program.steps) if step.kind is StepKind.LAUNCH]
    return [Weight(index, draw.choice([0, 4, 8, 16, 20, 24, 48]), draw.random() < 0.6) for index in kernels]


def at_once(weights: Sequence[Weight], order: Clocks) -> bool:
    return not any(
        order.before(one.step, other.step) or order.before(other.step, one.step)
        for one, other in combinations(weights, 2)
    )


def sets(weights: Sequence[Weight], order: Clocks) -> list[tuple[Weight, ...]]:
    """All sets of ops that weigh something and may run at once."""
    heavy = [weight for weight in weights if weight.amount]
    found = [chosen for size in range(len(heavy) + 1) for chosen in combinations(heavy, size)]
    return [chosen for chosen in found if at_once(chosen, order)]


def total(weights: Sequence[Weight]) -> int:
    return sum(weight.amount for weight in weights)


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_it_agrees_with_brute_force(seed: int) -> None:
    draw = random.Random(seed)
    program = random_program(draw)
    weights, order = random_weights(program, draw), clocks(program)
    chains = Chains(weights, order)
    by_step = {weight.step: weight for weight in weights}
    possible = sets(weights, order)

    most = max(map(total, possible))
    if most:
        found = [by_step[step] for step in chains.over(most - 1)]
        assert at_once(found, order) and total(found) == most
    assert chains.over(most) == ()

    over = [chosen for chosen in possible if total(chosen) > CAPACITY and sum(w.waits for w in chosen) > 1]
    reported = list(chains.waiting_over(CAPACITY))
    assert bool(reported) == bool(over)
    for chosen in reported:
        assert at_once(chosen, order) and total(chosen) > CAPACITY and sum(w.waits for w in chosen) > 1


def test_chains_alone() -> None:
    found = heaviest([Node(3, 0, 0, (0, 0)), Node(5, 0, 1, (0, 0)), Node(2, 1, 0, (0, 0)), Node(4, 1, 1, (0, 0))])
    assert found is not None and (found.weight, found.nodes) == (9, (1, 3))


def test_an_order_makes_the_ends_exclude_each_other() -> None:
    found = heaviest([Node(3, 0, 0, (0, 0)), Node(5, 0, 1, (0, 0)), Node(2, 1, 0, (0, 0)), Node(4, 1, 1, (2, 0))])
    assert found is not None and (found.weight, found.nodes) == (7, (1, 2))


def test_nothing_is_found_that_is_no_heavier() -> None:
    nodes = [Node(3, 0, 0, (0, 0)), Node(5, 1, 0, (0, 0))]
    assert heaviest(nodes, over=8) is None
    assert heaviest(nodes, over=7) is not None
