"""Steers the simulated NPU from inside the process that runs on it."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from streamsched.npu_sim.environment import LIBRARY_VARIABLE
from streamsched.npu_sim.log import Record, read
from streamsched.npu_sim.orders import Order, parse


class NotSimulatedError(Exception):
    """This process does not run on the simulated NPU."""


@functools.cache
def _library() -> ctypes.CDLL:
    path = os.environ.get(LIBRARY_VARIABLE)
    if path is None:
        raise NotSimulatedError(
            "not on the simulated NPU: start this process with streamsched.npu_sim.environment.run(...)"
        )
    library = ctypes.CDLL(path)
    library.npusim_set_order.restype = ctypes.c_bool
    library.npusim_log_start.restype = ctypes.c_bool
    library.npusim_idle.restype = ctypes.c_bool
    library.npusim_poison.restype = ctypes.c_bool
    library.npusim_poison.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
    library.npusim_error.restype = ctypes.c_char_p
    return library


def set_order(order: Order | str) -> None:
    """Finishes what is pending under the former order, then runs everything under this one.

    Call torch.npu.synchronize() before: torch_npu issues launches from a thread of its own.
    """
    accepted = _library().npusim_set_order(str(parse(str(order))).encode())
    assert accepted, f"the library does not know the order {order}"


def restart_nodes() -> None:
    """Numbers launches outside of graphs from 0 again, so that `before(node)` means the same launch in every call."""
    _library().npusim_restart_nodes()


def start_log(path: Path) -> None:
    """Writes the launch log to `path` from now on. Raises OSError when it cannot be written."""
    if not _library().npusim_log_start(os.fsencode(path)):
        raise OSError(f"cannot write the launch log {path}")


def stop_log() -> None:
    """Ends the launch log and closes its file."""
    _library().npusim_log_stop()


def mark(text: str) -> None:
    """Writes a line of its own into the launch log, to find a place again."""
    _library().npusim_log_mark(text.encode())


@contextmanager
def logged(path: Path) -> Iterator[list[Record]]:
    """Logs the block to `path`; the list is filled when the block ends."""
    records: list[Record] = []
    start_log(path)
    try:
        yield records
    finally:
        stop_log()
        records.extend(read(path))


def error() -> str | None:
    """The first failure on the device since the last `clear_error`: an operator without a kernel, say."""
    message = _library().npusim_error()
    return message.decode() if message else None


def clear_error() -> None:
    """Forgets the failure, so that host syncs succeed again. What failed left its outputs unwritten."""
    _library().npusim_clear_error()


def finish() -> None:
    """Runs all that is pending, under the current order. A failure shows in `error` and at the next host sync."""
    _library().npusim_finish()


def is_idle() -> bool:
    """Whether nothing is pending on any stream."""
    return bool(_library().npusim_idle())


def poison(address: int, size: int) -> None:
    """Overwrites device memory with NaN (-1 in integers); `size` is in bytes. Raises ValueError outside of blocks."""
    if not _library().npusim_poison(address, size):
        raise ValueError(f"{size} bytes at {address:#x} are not device memory")


def poison_free_blocks() -> int:
    """Overwrites with NaN every block that torch_npu's allocator holds and nobody owns; returns the bytes written.

    The allocator reuses blocks without telling the device, so a read that comes too early may find the right number of
    an earlier call there. Call this between calls, after torch.npu.synchronize(). Graphs write their own blocks again.
    """
    import torch

    npu: Any = vars(torch)["npu"]  # torch_npu adds it
    written = 0
    for segment in npu.memory_snapshot():
        address = segment["address"]
        for block in segment["blocks"]:
            if block["state"] == "inactive":
                poison(address, block["size"])
                written += block["size"]
            address += block["size"]
    return written
