"""Outputs held against each other: bit for bit, NaN equal to NaN."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from streamsched.verify.verdict import Difference

NESTING_LIMIT = 30
"""How deep objects of other people's classes are looked into."""

_BY_IDENTITY: Any = object.__eq__


def differences(found: Any, expected: Any, order: str, call: int, where: str = "output") -> Iterator[Difference]:
    """Where the tree `found` differs from `expected`, tensor by tensor.

    Objects that do not say themselves what equals them (caches, dataclasses) are compared attribute by attribute.
    """
    yield from _differences(found, expected, Difference(order, call, where, float("nan"), 1, 1), 0)


def _differences(found: Any, expected: Any, here: Difference, depth: int) -> Iterator[Difference]:
    """`here` is what to report if the two differ as a whole."""
    if isinstance(expected, torch.Tensor):
        difference = _difference(found, expected, here)
        if difference is not None:
            yield difference
        return
    children, others = _children(expected), _children(found)
    if children is None or others is None or depth > NESTING_LIMIT:
        if not _equal(found, expected):
            yield here
    elif (type(found) is not type(expected) and not _alike(found, expected)) or list(children) != list(others):
        yield here
    else:
        for key, value in children.items():
            inside = dataclasses.replace(here, where=f"{here.where}{key}")
            yield from _differences(others[key], value, inside, depth + 1)


def _children(tree: Any) -> dict[str, Any] | None:
    """What a container or an object holds, by how it is reached; None for what is compared as a whole."""
    if isinstance(tree, Mapping):
        return {f"[{key!r}]": value for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return {f"[{index}]": value for index, value in enumerate(tree)}
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        return {f".{field.name}": getattr(tree, field.name, None) for field in dataclasses.fields(tree)}
    if type(tree).__eq__ is _BY_IDENTITY and hasattr(tree, "__dict__") and not callable(tree):
        return {f".{name}": value for name, value in vars(tree).items()}
    return None


def _alike(found: Any, expected: Any) -> bool:
    """Whether two containers may stand for each other: a list for a tuple, one mapping for another."""
    return any(isinstance(found, kind) and isinstance(expected, kind) for kind in ((list, tuple), Mapping))


def _equal(found: Any, expected: Any) -> bool:
    """Whether two plain values are equal; NaN equals NaN, and what cannot be compared differs."""
    try:
        return found is expected or bool(found == expected) or bool(found != found and expected != expected)
    except Exception:  # the user's own __eq__
        return False


def _difference(found: Any, expected: torch.Tensor, here: Difference) -> Difference | None:
    whole = dataclasses.replace(here, differing=expected.numel(), total=expected.numel())
    if not isinstance(found, torch.Tensor) or (found.shape, found.dtype) != (expected.shape, expected.dtype):
        return whole
    if found.layout is not torch.strided or expected.layout is not torch.strided:
        if found.layout is not expected.layout:
            return whole
        found, expected = found.to_dense(), expected.to_dense()
    unequal = _unequal(found, expected)
    if not unequal.any():
        return None
    differing = int(unequal.sum())
    return dataclasses.replace(whole, differing=differing, largest=_distance(found[unequal], expected[unequal]))


def _unequal(found: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    """Which elements differ in their bits, two NaNs left out. A complex number is two numbers."""
    if expected.is_complex():
        return _unequal(torch.view_as_real(_plain(found)), torch.view_as_real(_plain(expected))).any(-1)
    bits = _bits(found) != _bits(expected)
    if not expected.is_floating_point() or not bits.any():
        return bits
    one, other = _wide(found), _wide(expected)
    return bits & ~((one != one) & (other != other))


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """The numbers as they lie in memory: conjugated and negated lazily no more."""
    return tensor.detach().resolve_conj().resolve_neg()


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    """The elements as integers of their size; not every dtype has a `!=` of its own."""
    sizes = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return _plain(tensor).contiguous().view(sizes[tensor.element_size()])


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dtype is torch.float4_e2m1fn_x2:  # pairs, which torch converts to nothing
        tensor = _bits(tensor)
    return tensor.detach().to(torch.complex128 if tensor.is_complex() else torch.float64)


def _distance(found: torch.Tensor, expected: torch.Tensor) -> float:
    """The largest absolute difference; integers of 64 bits beyond 2**53 lose their last digits. NaN beside a NaN."""
    return float((_wide(found) - _wide(expected)).abs().max())
