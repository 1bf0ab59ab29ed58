"""Which bytes of a storage a kernel touches: those of the tensors that it is given, which may be views."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import torch

from streamsched.dsl.record.log import Entry
from streamsched.dsl.record.memory import Memory
from streamsched.dsl.record.overlap import View


class Access(NamedTuple):
    """One way in which an entry touches a storage: through a view, or all of it where `view` is None."""

    storage: int
    written: bool
    view: View | None


def accesses(
    memory: Memory, read: Iterable[torch.Tensor], written: Iterable[torch.Tensor], exact: bool = True
) -> tuple[Access, ...]:
    """How a kernel touches storages through the tensors that it reads and writes; empty where it touches all of each.

    Of a kernel that is not `exact` nothing is known but what it is given: it may touch all from a view's first byte to
    its last.
    """
    given = [*((tensor, False) for tensor in read), *((tensor, True) for tensor in written)]
    if not any(memory.is_part(tensor) for tensor, _ in given):
        return ()
    found = ((memory.number(tensor), is_written, tensor) for tensor, is_written in given)
    return tuple(
        Access(number, is_written, _view(tensor, exact) if memory.is_part(tensor) else None)
        for number, is_written, tensor in found
        if number is not None
    )


def all_accesses(entry: Entry) -> Iterator[Access]:
    """How an entry touches storages. Those that its `views` do not name it touches as a whole."""
    for written, storages in ((False, entry.reads), (True, entry.writes)):
        for storage in storages:
            named = [a for a in entry.views if a.storage == storage and a.written == written]
            yield from named or (Access(storage, written, None),)


def _view(tensor: torch.Tensor, exact: bool) -> View:
    offset, sizes, strides = int(tensor.storage_offset()), tuple(tensor.size()), tensor.stride()
    if not exact and 0 not in sizes:
        reach = sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
        sizes, strides = (reach + 1,), (1,)
    return View(offset, sizes, strides, tensor.element_size())
