"""Random schedules over random small models: what is generated agrees under adversarial orders."""

from __future__ import annotations

from typing import Any


def test_random_schedules_agree(run_child: Any, everything: bool) -> None:
    count = 200 if everything else 20
    ((agreed, refused),) = run_child("random_child.py", str(count))
    print(f"{agreed} of {count} random schedules agreed, {refused} were refused by lint")
    assert agreed + refused >= count
    assert agreed > refused
