"""Running checks over random cases: a few that are always the same, or new ones for as long as one likes.

`STREAMSCHED_FUZZ=600` runs new random cases for ten minutes in all; without it every run has the same cases.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

VARIABLE = "STREAMSCHED_FUZZ"
SHARES = {
    "text": 3,
    "linted": 4,
    "trace": 6,
    "trace file": 1,
    "config": 1,
    "ignores": 1,
    "baseline": 1,
    "cache": 1,
    "device": 1,
    "editor": 4,
    "messages": 1,
}
"""What each check has of the time, in parts."""

ROUND = 100
"""How many cases are made from one seed where the time decides how many there are."""


def fuzz(share: str, check: Callable[..., None], *cases: st.SearchStrategy[Any], examples: int) -> None:
    """Call `check` with `examples` cases, or with as many as its share of the time allows. It fails by raising."""
    seconds = float(os.environ.get(VARIABLE, "0")) * SHARES[share] / sum(SHARES.values())
    case = st.tuples(*cases)
    if not seconds:
        _all(check, case, examples, same=True)()
        return
    start, begun, run = time.monotonic(), int(time.time()), 0
    while time.monotonic() - start < seconds:
        seed(begun + run)(_all(check, case, ROUND, same=False))()
        run += ROUND
    print(f"{share}: {run} cases in {time.monotonic() - start:.0f} s")


def _all(check: Callable[..., None], case: st.SearchStrategy[Any], examples: int, same: bool) -> Callable[[], None]:
    def one(each: Any) -> None:
        check(*each)

    found: Callable[[], None] = settings(
        max_examples=examples,
        derandomize=same,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )(given(case)(one))
    return found
