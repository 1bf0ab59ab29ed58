"""Lists of numbers as indices: `x[..., [-2], :]`."""

from __future__ import annotations

from typing import Any

import torch

_INDEXING = frozenset({torch.Tensor.__getitem__, torch.Tensor.__setitem__})


def with_values(function: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of a call into torch, where each list of numbers in an index is a tensor of them.

    torch makes such a tensor on the device of what is indexed: under meta tensors it would have no values.
    """
    if function not in _INDEXING:
        return args
    tensor, index, *value = args
    index = tuple(map(_tensor, index)) if isinstance(index, tuple) else _tensor(index)
    return (tensor, index, *value)


def _tensor(index: Any) -> Any:
    return torch.tensor(index) if isinstance(index, list) and index and _is_plain(index) else index


def _is_plain(item: Any) -> bool:
    return all(map(_is_plain, item)) if isinstance(item, list) else type(item) in (int, bool)
