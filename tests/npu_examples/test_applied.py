"""Generated files on models that are copied, and in calls unlike the traced one, on the simulated NPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def test_copies_and_calls_of_other_sizes_give_the_original_result(run_child: Callable[..., list[Any]]) -> None:
    for what, right in run_child("applied_child.py"):
        assert all(right), what
