"""Collectives: each process group has a stream of its own, behind what was issued before the collective."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch._C._distributed_c10d import ProcessGroup, Work
from torch.distributed._functional_collectives import AsyncCollectiveTensor

from streamsched.dsl.program import via
from streamsched.dsl.program.steps import StepKind
from streamsched.dsl.record.device import Device
from streamsched.dsl.record.log import Entry
from streamsched.dsl.record.memory import Block, Memory
from streamsched.dsl.trace.model import StorageKind
from streamsched.dsl.trace.tracing.collectives import is_collective, is_unordered

_GROUP = "group_name"


def begins(func: Any) -> bool:
    """Whether an operator begins a collective, or communicates otherwise."""
    return is_unordered(func) or (is_collective(func) and any(a.name == _GROUP for a in func._schema.arguments))


def fills(func: Any, parameter: str) -> tuple[bool, bool]:
    """Whether an operator of `torch.distributed` writes a parameter, and whether it does so without reading it."""
    name = func._schema.name.rpartition("::")[2]
    if parameter.startswith("output"):
        return True, True
    in_place = parameter == "tensors" and name != "send"
    return in_place, in_place and name.startswith("recv")


def only_wraps(func: Any) -> bool:
    """Whether an operator of the collectives' does nothing on the device."""
    return is_collective(func) and not begins(func)


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor itself, of one that waits for its collective when it is first used."""
    return plain(tensor.elem) if isinstance(tensor, AsyncCollectiveTensor) else tensor


def without_values() -> dict[Any, Callable[..., Any]]:
    """What runs in place of two operators on tensors without values: torch's own stand-ins give new memory there."""
    ops = torch.ops._c10d_functional
    return {ops.wait_tensor.default: plain, ops._wrap_tensor_autograd.default: AsyncCollectiveTensor}


@dataclass(frozen=True, slots=True)
class _Handle:
    """A collective that was begun, by its handle, which is kept so that no other gets its place in memory."""

    work: Any
    stream: int
    values: dict[str, Any]


def _work(result: Any) -> Any:
    """The handle in what an operator of `torch.distributed` gives, as user code has it; None if there is none."""
    last = result[-1] if isinstance(result, list | tuple) and result else result
    return Work.unbox(last) if isinstance(last, torch.ScriptObject) else None


class Groups:
    """The process groups met so far, and the collectives that something may still wait for."""

    def __init__(self, device: Device, memory: Memory) -> None:
        self._device = device
        self._memory = memory
        self._storages: dict[str, int] = {}
        self._pending: dict[int, tuple[int, tuple[int, ...]]] = {}  # functional ones, by a storage that they fill
        self._handles: dict[int, _Handle] = {}

    def begin(
        self,
        func: Any,
        values: dict[str, Any],
        name: str,
        reads: Iterable[int],
        writes: Iterable[int],
        launch: Callable[[str, Iterable[int], Iterable[int]], Entry],
        result: Any,
    ) -> None:
        """Begin a collective on its group's stream; what has no handle is waited for at once."""
        label, storage = self._group(values)
        read, written = tuple(reads), tuple(writes)
        issuer, stream = self._device.current, self._device.group_stream(label)
        self._device.order(issuer, stream, via.COLLECTIVE)
        entry = launch(name, (*read, storage), (*written, storage))
        entry.stream, entry.issued_on = stream, issuer
        for number in dict.fromkeys((*read, *written)):  # the backend tells the allocator by itself
            kept = Entry(StepKind.RECORD_STREAM, stream, self._memory.blocks[number].name, storage=number)
            self._device.log.add(kept)
        work = _work(result)
        # A blocking one runs on the stream that it is issued on; what is compiled may be issued in another order.
        if values.get("async_op", work is not None or is_collective(func)) and not self._device.per_call:
            entry.words.append(via.QUEUED)
        if is_collective(func):
            self._pending.update(dict.fromkeys(written, (stream, (*read, *written))))
            return
        if work is not None:
            self._handles[id(work)] = _Handle(work, stream, values)
        else:
            self._device.order(stream, issuer, via.COLLECTIVE)

    def wait_for(self, work: Any) -> None:
        """Let the current stream wait for the collective of a handle, if that is one of the device's."""
        handle = self._handles.get(id(work))
        if handle is not None:
            self._device.order(handle.stream, self._device.current, via.COLLECTIVE)

    def filled(self, work: Any) -> list[torch.Tensor]:
        """The tensors that the collective of a handle fills."""
        handle = self._handles.get(id(work))
        if handle is None:
            return []
        names = ("output_tensors", "output_tensor", "tensors")
        given: Any = next((handle.values[name] for name in names if name in handle.values), [])
        return [given] if isinstance(given, torch.Tensor) else list(given)

    def wait(self, storages: Iterable[int]) -> None:
        """Let the current stream wait for the collective that fills `storages`."""
        for storage in storages:
            found = self._pending.pop(storage, None)
            if found is not None:
                self._device.order(found[0], self._device.current, via.COLLECTIVE)

    def _group(self, values: dict[str, Any]) -> tuple[str, int]:
        given: Any = values.get("group_name", values.get("process_group"))
        name = given if isinstance(given, str) else str(ProcessGroup.unbox(given).group_name)
        label = f"group {name}"
        if label not in self._storages:
            self._storages[label] = len(self._memory.blocks)
            self._memory.blocks.append(Block(label, StorageKind.PROCESS_GROUP, 0))
        return label, self._storages[label]
