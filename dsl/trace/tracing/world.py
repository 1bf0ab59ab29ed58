"""The ranks that a model is traced as one of: a fake process group, which communicates with nobody."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
import torch.distributed as dist

_WANTING = (
    "Default process group has not been initialized",
    "Unsupported group type: <class 'NoneType'>",
    "Could not resolve the process group",
    "environment variable RANK expected",
    "environment variable WORLD_SIZE expected",
    "environment variable MASTER_ADDR expected",
)


@contextlib.contextmanager
def ranks(world: int, rank: int = 0) -> Iterator[None]:
    """Be rank `rank` of `world` while the context lasts; of none where `world` is 0.

    The default group is a fake one, made without a port, a file or an environment variable. It is destroyed afterwards,
    with all groups that the user's code has made in the meantime.
    """
    if not dist.is_available() or dist.is_initialized():
        yield
        return
    try:
        if world:
            # The import registers the backend.
            from torch.testing._internal.distributed.fake_pg import FakeStore

            dist.init_process_group(_backend(), rank=rank, world_size=world, store=FakeStore())
        yield
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()


def _backend() -> str:
    """The fake backend for the devices that it knows, or for the one that is loaded besides: an NPU."""
    device = torch._C._get_privateuse1_backend_name()
    return "fake" if device == "privateuseone" else f"cpu:fake,{device}:fake"


def is_wanting(text: str) -> bool:
    """Whether the message of an exception says that there is no process group."""
    return any(words in text for words in _WANTING)
