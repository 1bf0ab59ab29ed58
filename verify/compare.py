"""Outputs held against each other: bit for bit, NaN equal to NaN."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch

from streamsched.verify.verdict import Difference


def differences(found: Any, expected: Any, order: str, call: int, where: str = "output") -> Iterator[Difference]:
    """Where the tree `found` differs from `expected`, tensor by tensor."""
    if isinstance(expected, torch.Tensor):
        difference = _difference(found, expected, order, call, where)
        if difference is not None:
            yield difference
    elif isinstance(expected, Mapping) and isinstance(found, Mapping) and list(expected) == list(found):
        for key, value in expected.items():
            yield from differences(found[key], value, order, call, f"{where}[{key!r}]")
    elif isinstance(expected, list | tuple) and isinstance(found, list | tuple) and len(expected) == len(found):
        for index, (one, other) in enumerate(zip(found, expected, strict=True)):
            yield from differences(one, other, order, call, f"{where}[{index}]")
    elif isinstance(expected, Mapping | list | tuple) or found != expected:
        yield Difference(order, call, where, float("nan"), 1, 1)


def _difference(found: Any, expected: torch.Tensor, order: str, call: int, where: str) -> Difference | None:
    if not isinstance(found, torch.Tensor) or (found.shape, found.dtype) != (expected.shape, expected.dtype):
        return Difference(order, call, where, float("nan"), expected.numel(), expected.numel())
    unequal = (found != expected) & ~((found != found) & (expected != expected))
    if not unequal.any():
        return None
    distance = (found[unequal].double() - expected[unequal].double()).abs().max()
    return Difference(order, call, where, float(distance), int(unequal.sum()), expected.numel())
