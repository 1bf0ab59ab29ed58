"""The storages of a trace, found by the identity of the memory under the traced tensors."""

from __future__ import annotations

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from streamsched.dsl.trace.model import Storage, StorageKind


class Memory:
    """Every storage met so far."""

    def __init__(self) -> None:
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
        self._storages.append(Storage(name, kind, _nbytes(tensor)))
        return len(self._storages) - 1

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


def _nbytes(tensor: torch.Tensor) -> int:
    """Bytes of the storage; 0 where they depend on data."""
    nbytes = tensor.untyped_storage().nbytes()
    return nbytes if type(nbytes) is int else 0
