"""Storages whose memory is given back and taken anew while their tensors live: `untyped_storage().resize_()`."""

from __future__ import annotations

from dataclasses import replace

import torch

from streamsched.dsl.record.recorder import Recorder
from streamsched.dsl.trace.model import StorageKind


def resized(recorder: Recorder, storage: torch.UntypedStorage) -> None:
    """Note that a storage has another size than before: its memory is another block from here on.

    At size 0 it has none. Whatever it holds is copied where there was something and is something.
    """
    memory = recorder.memory
    old = memory.of_storage(storage)
    if old is None or memory.blocks[old].on_host or memory.blocks[old].nbytes == storage.nbytes():
        return
    block = memory.blocks[old]
    device = recorder.device
    now = replace(block, kind=StorageKind.OP, nbytes=storage.nbytes(), home=device.current, captured=device.capture())
    new = memory.exchange(storage, now)
    if storage.nbytes():
        recorder.allocate((new,))
    if storage.nbytes() and block.nbytes:
        recorder.launch("resize_", (old,), (new,))
    recorder.freed(old)
