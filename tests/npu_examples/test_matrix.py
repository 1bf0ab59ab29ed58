"""Every example, compiled and eager, agrees with its original under adversarial orders on the simulated NPU."""

from __future__ import annotations

from typing import Any

import pytest
from tiny import SCOPED, SIZES

NAMES = sorted(SIZES)


@pytest.mark.parametrize("names", [NAMES[::2], NAMES[1::2]], ids=" ".join)
def test_every_example_agrees(run_child: Any, everything: bool, names: list[str]) -> None:
    orders = 10 if everything else 2
    results = run_child("matrix_child.py", str(orders), "012", *names)
    assert len(results) == 3 * len(names)
    assert [text for _, agrees, _, text in results if not agrees] == []
    assert {count for _, _, count, _ in results} == {orders + 2}


def test_scoped_examples_agree(run_child: Any, everything: bool) -> None:
    """One of them, compiled, where not everything is asked for."""
    names, orders, runs = (sorted(SCOPED), 10, "012") if everything else (["llama_decode"], 0, "01")
    results = run_child("matrix_child.py", str(orders), runs, *names)
    assert len(results) == len(runs) * len(names)
    assert [text for _, agrees, _, text in results if not agrees] == []
    assert {count for _, _, count, _ in results} == {orders + 2}
