"""Copies of what modules are called with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


class Copying(TorchFunctionMode):
    """Has deep copies of containers hold what `tensor` makes of each tensor in them."""

    def __init__(self, tensor: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self._tensor = tensor

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.Tensor.__deepcopy__:
            return self._tensor(args[0])
        return func(*args, **(kwargs or {}))


class MetaTensors:
    """Tensors on the meta device for those of a trace: one for each, in memory that is shared as theirs is."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}  # by id, with the tensor that has that id
        self._memory: dict[int, torch.UntypedStorage] = {}

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        """The meta tensor for `tensor`. Raises ValueError where its size depends on data."""
        if id(tensor) not in self._made:
            self._made[id(tensor)] = tensor, self._make(tensor)
        return self._made[id(tensor)][1]

    def _make(self, tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        sizes = (storage.nbytes(), tensor.storage_offset(), *tensor.shape, *tensor.stride())
        if any(type(size) is not int for size in sizes):
            raise ValueError("the size of a tensor depends on data")
        if storage._cdata not in self._memory:
            self._memory[storage._cdata] = torch.UntypedStorage(storage.nbytes(), device="meta")  # type: ignore[no-untyped-call]
        empty = torch.empty(0, dtype=tensor.dtype, device="meta")
        return empty.set_(self._memory[storage._cdata], tensor.storage_offset(), tensor.shape, tensor.stride())
