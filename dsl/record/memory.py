"""The storages that live on the virtual device and on the host, from their allocation to their last view's death."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass

import torch

from streamsched.dsl.trace.model import StorageKind


@dataclass(slots=True)
class Block:
    """The memory under a storage. `home` is the stream it was allocated on.

    `on_host` and `pinned` tell what it pretends to be, wherever it really is; `shared` that host memory has been
    named in something that runs on the device, so that what the host does with it matters.
    """

    name: str
    kind: StorageKind
    nbytes: int
    home: int = 0
    on_host: bool = False
    pinned: bool = False
    shared: bool = False
    captured: int = 0  # the number of the capture whose graph it belongs to, from 1; 0 for none


class Memory:
    """Every storage met so far, by a number of its own: addresses are given away again.

    `died` is called with the number of a storage when the last tensor in it is gone.
    """

    def __init__(self, died: Callable[[int], None]) -> None:
        self.blocks: list[Block] = []
        self._numbers: dict[int, int] = {}
        self._watching: dict[int, weakref.ref[torch.UntypedStorage]] = {}
        self._died = died

    def number(self, tensor: torch.Tensor) -> int | None:
        """The number of the storage under a tensor; None for one that was never seen, or for a tensor without."""
        storage = _storage(tensor)
        return None if storage is None else self._numbers.get(storage._cdata)

    def of_storage(self, storage: torch.UntypedStorage) -> int | None:
        """The number of a storage; None for one that was never seen."""
        return self._numbers.get(storage._cdata)

    def block(self, tensor: torch.Tensor) -> Block | None:
        """What is known of the storage under a tensor."""
        number = self.number(tensor)
        return None if number is None else self.blocks[number]

    def is_part(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor covers less than the storage under it, as far as is known."""
        number = self.number(tensor)
        return number is not None and tensor.nbytes != self.blocks[number].nbytes

    def add(self, tensor: torch.Tensor, block: Block) -> int | None:
        """Take note of the storage under a tensor; what is known of it already stays."""
        storage = _storage(tensor)
        if storage is None:
            return None
        known = self._numbers.get(storage._cdata)
        if known is not None:
            return known
        return self._watch(storage, block)

    def exchange(self, storage: torch.UntypedStorage, block: Block) -> int:
        """Let a storage that is known stand for another block from now on; the number of that."""
        del self._watching[self._numbers[storage._cdata]]
        return self._watch(storage, block)

    def _watch(self, storage: torch.UntypedStorage, block: Block) -> int:
        address, number = storage._cdata, len(self.blocks)
        self.blocks.append(block)
        self._numbers[address] = number

        def gone(_: object) -> None:
            del self._numbers[address]
            del self._watching[number]
            self._died(number)

        self._watching[number] = weakref.ref(storage, gone)
        return number

    def is_alive(self, number: int) -> bool:
        """Whether a tensor is still in it, until everything is forgotten."""
        return number in self._watching

    def forget(self) -> None:
        """Watch nothing any more."""
        self._watching.clear()


def _storage(tensor: torch.Tensor) -> torch.UntypedStorage | None:
    try:
        return tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):  # sparse tensors have none
        return None


def nbytes(tensor: torch.Tensor) -> int:
    """The size of the storage under a tensor."""
    storage = _storage(tensor)
    return 0 if storage is None else storage.nbytes()
