"""Tensors in the containers that modules take and return."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.utils._pytree as pytree


def tensors(value: Any) -> list[torch.Tensor]:
    """The tensors in `value`, in order: those in the containers that torch knows, and in dataclasses."""
    return list(_tensors(value))


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    for leaf in pytree.tree_leaves(value):
        if isinstance(leaf, torch.Tensor):
            yield leaf
        elif dataclasses.is_dataclass(leaf) and not isinstance(leaf, type):
            for name in _fields(leaf):
                yield from _tensors(getattr(leaf, name))


def replaced(value: Any, change: Callable[[torch.Tensor], Any]) -> Any:
    """`value` with `change` applied to each tensor in it; containers are copied, and all else is the same object."""
    return pytree.tree_map(lambda leaf: _replaced_leaf(leaf, change), value)


def _replaced_leaf(leaf: Any, change: Callable[[torch.Tensor], Any]) -> Any:
    if isinstance(leaf, torch.Tensor):
        return change(leaf)
    if not dataclasses.is_dataclass(leaf) or isinstance(leaf, type) or not tensors(leaf):
        return leaf
    copied = copy.copy(leaf)
    for name in _fields(leaf):
        object.__setattr__(copied, name, replaced(getattr(leaf, name), change))
    return copied


def _fields(value: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(value) if hasattr(value, field.name)]
