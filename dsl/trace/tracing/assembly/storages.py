"""The storages of a trace, found by the identity of the memory under the traced tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from streamsched.dsl.trace.model import Dim, Storage, StorageKind


class Memory:
    """Every storage met so far; `size` tells what a number of torch's is in the trace."""

    def __init__(self, size: Callable[[Any], Dim]) -> None:
        self._size = size
        self._storages: list[Storage] = []
        self._of_memory: dict[StorageWeakRef, tuple[int, ...]] = {}
        self._named: dict[tuple[str, StorageKind], int] = {}

    def all(self) -> tuple[Storage, ...]:
        """The storages by index."""
        return tuple(self._storages)

    def known(self, tensor: torch.Tensor) -> tuple[int, ...]:
        """The storages that a tensor lies in, as far as met before; else empty."""
        return self._of_memory.get(memory_of(tensor), ())

    def place(self, tensor: torch.Tensor, storages: tuple[int, ...]) -> None:
        """Note that a tensor's memory is `storages`, unless it is known to be something."""
        self._of_memory.setdefault(memory_of(tensor), storages)

    def fresh(self, name: str, kind: StorageKind, tensor: torch.Tensor) -> int:
        """A new storage for a tensor."""
        self._storages.append(Storage(name, kind, self._nbytes(tensor)))
        return len(self._storages) - 1

    def _nbytes(self, tensor: torch.Tensor) -> Dim:
        """Bytes of the storage; 0 where they depend on data."""
        nbytes = self._size(tensor.untyped_storage().nbytes())
        return 0 if nbytes == -1 else nbytes

    def order(self, name: str, kind: StorageKind) -> int:
        """The one storage that stands for an order: the random generator, what the host sees."""
        index = self._named.get((name, kind))
        if index is None:
            index = self._named[name, kind] = len(self._storages)
            self._storages.append(Storage(name, kind, 0))
        return index


def same_memory(a: object, b: object) -> bool:
    """Whether two traced tensors lie in one storage; numbers lie in none."""
    return isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) and memory_of(a) == memory_of(b)


def memory_of(tensor: torch.Tensor) -> StorageWeakRef:
    """What identifies the memory under a traced tensor."""
    return StorageWeakRef(tensor.untyped_storage())  # type: ignore[no-untyped-call]
