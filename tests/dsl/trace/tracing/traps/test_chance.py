"""What Python makes of a random number or of a clock is built into a trace, and is told."""

from __future__ import annotations

import gc
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streamsched.dsl.diagnostic import Diagnostic, Span
from streamsched.dsl.trace.export import Traced
from streamsched.dsl.trace.request import LeafRequest

Attempt = Callable[..., Traced]
MODEL = """
import logging, os, random, secrets, time, uuid
from random import random as draw, uniform
from time import perf_counter
import numpy as np

RNG = np.random.default_rng(0)

class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.own, self.rng = random.Random(0), np.random.default_rng(0)

    def forward(self, x):
        BEFORE
        return FORWARD

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.part, self.other = Part(), nn.Linear(8, 8)

    def forward(self, x):
        return self.other(self.part(x))
"""


def warned(attempt: Attempt, forward: str, before: str = "pass", **request: Any) -> tuple[Diagnostic, ...]:
    made = attempt(MODEL.replace("FORWARD", forward).replace("BEFORE", before), request, x=(8, 8))
    assert made.trace is not None, made.diagnostics
    assert made.trace.warnings == tuple(found.message for found in made.diagnostics)
    return made.diagnostics


DRAWS = [
    "random.random()",
    "draw()",
    "uniform(1, 2)",
    "random.randint(1, 3)",
    "random.choice([1, 2])",
    "random.gauss(1, 2)",
    "self.own.random()",
    "self.own.randrange(9)",
    "random.SystemRandom().random()",
    "secrets.randbelow(4)",
    "len(os.urandom(4))",
    "(uuid.uuid4().int % 3)",
    "np.random.rand()",
    "np.random.sample()",
    "np.random.default_rng().random()",
]


@pytest.mark.parametrize("draw", DRAWS)
def test_a_draw_in_forward(attempt: Attempt, tmp_path: Path, draw: str) -> None:
    (found,) = warned(attempt, f"x * {draw}")
    assert found.code == "TRC208"
    assert found.message == "Part.forward() draws a random number in Python, and what comes of it is built in"
    span = found.related[0].span
    line = (tmp_path / "model.py").read_text().splitlines()[span.line - 1]
    assert line[span.column - 1 : span.end_column - 1] in draw
    assert span.end_column > span.column


@pytest.mark.parametrize(("draw", "name"), [("self.rng.random()", "self.part.rng"), ("RNG.random()", "RNG")])
def test_a_generator_of_numpy_s(attempt: Attempt, draw: str, name: str) -> None:
    (found,) = warned(attempt, f"x * {draw}")
    assert found.message == f"forward() draws random numbers of `{name}` in Python, and what comes of them is built in"


@pytest.mark.parametrize(
    "nothing", ["np.random.default_rng(3).random()", "2.0", "min(len(__import__('tempfile').mktemp()), 1)"]
)
def test_what_is_the_same_each_time(attempt: Attempt, nothing: str) -> None:
    assert warned(attempt, f"x * {nothing}") == ()


@pytest.mark.parametrize("clock", ["time.time()", "perf_counter()", "time.monotonic_ns()", "time.time() // 3600 % 24"])
def test_a_clock_that_matters(attempt: Attempt, clock: str) -> None:
    (found,) = warned(attempt, f"x * ({clock})")
    assert found.message == "Part.forward() reads a clock, and what comes of the time is built in"
    assert found.related[0].message == "read here"


def test_a_branch_on_a_clock(attempt: Attempt) -> None:
    (found,) = warned(attempt, "x.relu() if time.time() - begun > 5 else x", "begun = time.time()")[:1]
    assert found.code == "TRC208"


def test_a_clock_for_a_log(attempt: Attempt) -> None:
    before = "begun = time.time(); logging.getLogger('x').warning('%s', time.time() - begun)"
    assert warned(attempt, "x * 2", before) == ()


def test_a_clock_for_the_collection_of_garbage(attempt: Attempt) -> None:
    """Libraries that measure it are called in the middle of whatever runs."""

    def measured(*_: object) -> None:
        time.perf_counter()

    gc.callbacks.append(measured)
    try:
        (found,) = warned(attempt, "x * time.time()", "import gc; gc.collect()")
    finally:
        gc.callbacks.remove(measured)
    assert found.message == "Part.forward() reads a clock, and what comes of the time is built in"


def test_a_leaf_draws_for_itself(attempt: Attempt) -> None:
    leaf = LeafRequest("part", Span("test.sched", 3, 1, 3, 12))
    assert warned(attempt, "x * random.random() * time.time() * self.rng.random()", leaves=(leaf,)) == ()


def test_all_is_put_back(attempt: Attempt) -> None:
    def functions() -> tuple[Any, ...]:
        found = (random.random, random.getrandbits, os.urandom, np.random.rand, np.random.default_rng, time.time)
        return (*found, vars(random.Random).get("random"), vars(random.SystemRandom)["random"])

    before = functions()
    state = random.getstate()
    warned(attempt, "x * 2")
    assert functions() == before
    assert random.getstate() == state
