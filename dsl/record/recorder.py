"""What each operator does to the storages, noted as launches, allocations, frees and host reads."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import torch

from streamsched.dsl.diagnostic import Span
from streamsched.dsl.program import via
from streamsched.dsl.program.steps import StepKind
from streamsched.dsl.record import collectives
from streamsched.dsl.record.device import Device
from streamsched.dsl.record.fake import Refusals
from streamsched.dsl.record.launches import Launches
from streamsched.dsl.record.log import HOST, Entry
from streamsched.dsl.record.memory import Block, Memory, nbytes
from streamsched.dsl.record.operators import Operator, Operators, Parameter, tensors
from streamsched.dsl.record.views import Access, accesses
from streamsched.dsl.trace.model import StorageKind
from streamsched.dsl.trace.tracing.assembly import effects


class Recorder:
    """Notes on `device.log` what runs, and knows which tensors pretend to lie on the device.

    `placing` is where a new tensor is asked to be while one call into torch lasts: "device", "host", or empty where
    the call does not say.
    """

    def __init__(self, device: Device, real: str) -> None:
        self.device = device
        self.real = real  # the device that tensors really lie on: "cpu" or "meta"
        self.memory = Memory(self._died)
        self.placing = ""
        self.launches = Launches(self)
        self.groups = collectives.Groups(device, self.memory)
        self.as_function = False  # whether the user's code calls an operator of `torch.ops` by itself
        self.refusals = Refusals()
        self.operators = Operators()
        self.replayed_without: list[tuple[int, Span | None]] = []  # dead memory of a graph, and where that is replayed
        self._silent = 0

    @property
    def fake(self) -> bool:
        """Whether tensors have no values."""
        return self.real == "meta"

    @contextlib.contextmanager
    def silence(self) -> Iterator[None]:
        """Note nothing while the context lasts."""
        self._silent += 1
        try:
            yield
        finally:
            self._silent -= 1

    # Tensors

    def is_on_host(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor pretends to lie in host memory; what was never seen does not."""
        block = self.memory.block(tensor)
        return block is not None and block.on_host

    def adopt(self, tensor: torch.Tensor, name: str, kind: StorageKind) -> int | None:
        """Take a tensor of the caller's for one on the device."""
        number = self.memory.add(tensor, Block(name, kind, nbytes(tensor)))
        if number is not None:
            block = self.memory.blocks[number]
            block.name, block.kind, block.on_host = name, kind, False
        return number

    # What torch runs

    def ran(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        """Note what one operator did."""
        if self._silent:
            return
        operator = self.operators[func]
        if operator.silent:
            return
        given = list(operator.operands(args, kwargs))
        on_device = self._is_on_device(given)
        if operator.copies:
            self._copied(func, args, kwargs)
            return
        reads, writes, fresh = self._accesses(operator, given, tensors(result), on_device)
        waits = operator.makes_host_wait(args, kwargs)
        name = operator.name
        if not (writes or waits or operator.waits or operator.begins):
            return  # it makes a view
        views = self._views(operator, given)
        if not on_device:
            self.host(name, reads, writes, views)
        elif operator.waits:
            self.groups.wait(reads)
        elif operator.begins:
            values = effects.argument_values(func, args, kwargs)
            self.groups.begin(func, values, name, reads, writes, partial(self.launch, views=views), result)
        elif operator.allocates:
            self.allocate(fresh)
        else:
            self.groups.wait(reads)  # a tensor of a collective waits for it by itself
            self.host(name, self._on_host(reads), (), views)
            self.launch(name, reads, writes, views)
        if waits and on_device:
            self.device.sync(self.device.current, f"{name}()")

    def launch(self, name: str, reads: Iterable[int], writes: Iterable[int], views: tuple[Access, ...] = ()) -> Entry:
        """Note a kernel on the current stream."""
        device = self.device
        device.check_stray()
        entry = Entry(StepKind.LAUNCH, device.current, name, tuple(dict.fromkeys(reads)), tuple(dict.fromkeys(writes)))
        entry.source = device.places.here()
        entry.words = [*device.launch_words(), *([via.AS_FUNCTION] if self.as_function else ())]
        entry.views = views
        return device.log.add(entry)

    def declared(self, name: str, read: Iterable[torch.Tensor], written: Iterable[torch.Tensor]) -> None:
        """Note a kernel that torch does not launch, by the tensors that it is said to touch."""
        touched = list(read), list(written)
        reads, writes = ([self._known(tensor) for tensor in tensors] for tensors in touched)
        views = accesses(self.memory, *touched, exact=False)
        self.launch(name, [n for n in reads if n is not None], [n for n in writes if n is not None], views)

    def allocate(self, storages: Iterable[int]) -> None:
        """Note memory that was allocated without a kernel."""
        device = self.device
        for number in storages:
            device.check_stray()
            block = self.memory.blocks[number]
            entry = Entry(StepKind.ALLOC, device.current, block.name, (), (number,), storage=number)
            entry.source = device.places.here()
            entry.words = device.launch_words()
            device.log.add(entry)

    def host(self, name: str, reads: Iterable[int], writes: Iterable[int], views: tuple[Access, ...] = ()) -> None:
        """Note that the host touches memory, where the device has touched it, too.

        The host goes on when it is done, and all that it issues from then on comes after it.
        """
        read, written = ([n for n in numbers if self._is_shared(n)] for numbers in (list(reads), list(writes)))
        if read or written:
            entry = Entry(StepKind.LAUNCH, HOST, name, tuple(read), tuple(written), source=self.device.places.here())
            entry.views = views
            self.device.log.add(entry)
            self.device.sync(HOST)

    def read_back(self, tensor: torch.Tensor, name: str) -> None:
        """Note that the host reads a tensor's data, which it waits for where it is the device's."""
        number = self.memory.number(tensor)
        if number is None:
            return
        views = accesses(self.memory, [tensor], [])
        if self.memory.blocks[number].on_host:
            self.host(name, (number,), (), views)
        else:
            self.launch(name, (number,), (), views)
            self.device.sync(self.device.current, f"{name}()")

    def transferred(self, source: torch.Tensor, made: torch.Tensor, kind: str, blocking: bool) -> None:
        """Note a copy between host and device, into new memory on the device called `kind`."""
        to_host = kind == "cpu"
        name = _first(self.device.places.bound()) or kind
        block = Block(name, StorageKind.OP, nbytes(made), self.device.current, to_host, to_host and not blocking)
        block.captured = self.device.capture()
        self.memory.add(made, block)
        self._moved(source, made, kind, blocking)

    def _copied(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        values = effects.argument_values(func, args, kwargs)
        target, source = values["self"], values["src"]
        for tensor in (target, source):
            self._known(tensor)
        here, there = self.is_on_host(target), self.is_on_host(source)
        if here and there:
            views = accesses(self.memory, [source], [target])
            self.host("copy_", self._numbers(source), self._numbers(target), views)
            return
        host = self.memory.block(source if there else target)
        asynchronous = bool(values.get("non_blocking")) and host is not None and (host.pinned or here)
        self._moved(source, target, "copy_", blocking=here != there and not asynchronous)

    def _moved(self, source: torch.Tensor, target: torch.Tensor, name: str, blocking: bool) -> None:
        reads, writes = self._numbers(source), self._numbers(target)
        for number in (*reads, *writes):
            block = self.memory.blocks[number]
            block.shared = block.shared or (block.on_host and self.device.log.running)
        self.launch(name, reads, writes, accesses(self.memory, [source], [target]))
        if blocking:
            self.device.sync(self.device.current, name)

    # Which storages

    def _accesses(
        self,
        operator: Operator,
        given: list[tuple[Parameter, torch.Tensor]],
        made: list[torch.Tensor],
        on_device: bool,
    ) -> tuple[list[int], list[int], list[int]]:
        """The storages that a call reads, those that it writes, and of these the new ones."""
        reads: list[int] = []
        writes: list[int] = []
        for parameter, tensor in given:
            number = self._known(tensor)
            if number is not None and operator.looks and not parameter.out:
                reads.append(number)
            if number is not None and parameter.written and operator.changes:
                writes.append(number)
        fresh = self._fresh(operator.name, made, on_device)
        return reads, [*writes, *fresh], fresh

    def _views(self, operator: Operator, given: list[tuple[Parameter, torch.Tensor]]) -> tuple[Access, ...]:
        """How a call touches the storages of its operands."""
        read = [tensor for parameter, tensor in given if operator.looks and not parameter.out]
        written = [tensor for parameter, tensor in given if operator.changes and parameter.written]
        return () if operator.strays else accesses(self.memory, read, written, operator.exact)

    def _fresh(self, called: str, made: list[torch.Tensor], on_device: bool) -> list[int]:
        found: list[int] = []
        names: tuple[str, ...] | None = None
        for index, tensor in enumerate(made):
            if self.memory.number(tensor) is not None:
                continue
            names = self.device.places.bound() if names is None else names
            name = names[index] if len(names) > 1 and index < len(names) else _first(names)
            name = name or called
            block = Block(name, StorageKind.OP, nbytes(tensor), self.device.current, not on_device)
            block.captured = self.device.capture()
            number = self.memory.add(tensor, block)
            if number is not None:
                found.append(number)
        return found

    def _is_on_device(self, given: list[tuple[Parameter, torch.Tensor]]) -> bool:
        if self.placing:
            return self.placing == "device"
        return any(not self.is_on_host(tensor) for _, tensor in given)

    def _known(self, tensor: torch.Tensor) -> int | None:
        """The number of a tensor's storage; one that nobody has seen being made was there before."""
        number = self.memory.number(tensor)
        return self.adopt(tensor, "a constant", StorageKind.CONSTANT) if number is None else number

    def _numbers(self, tensor: torch.Tensor) -> tuple[int, ...]:
        number = self.memory.number(tensor)
        return () if number is None else (number,)

    def _on_host(self, storages: Iterable[int]) -> list[int]:
        return [number for number in storages if self.memory.blocks[number].on_host]

    def _is_shared(self, number: int) -> bool:
        return self.memory.blocks[number].shared

    def _died(self, number: int) -> None:
        if self.memory.blocks[number].kind in (StorageKind.OP, StorageKind.INPUT):
            self.freed(number)

    def lacks(self, number: int) -> bool:
        """Whether memory of the device's has gone back to the allocator, and may be another's by now."""
        block = self.memory.blocks[number]
        return not (block.on_host or block.captured or self.memory.is_alive(number))

    def freed(self, number: int) -> None:
        """Note that memory goes back to the allocator, where it is the device's."""
        block = self.memory.blocks[number]
        if block.captured and block.captured != self.device.capture():
            return  # it stays in the pool of its graph, and nothing but the graph is given it
        if not block.on_host and block.nbytes:
            source = self.device.places.here() or self.device.log.last_source
            self.device.log.add(Entry(StepKind.FREE, block.home, block.name, storage=number, source=source))

    def record_stream(self, tensor: torch.Tensor, stream: int) -> None:
        """`tensor.record_stream(stream)`."""
        number = self._known(tensor)
        if number is not None:
            name = self.memory.blocks[number].name
            entry = Entry(StepKind.RECORD_STREAM, stream, name, storage=number, source=self.device.places.here())
            entry.words = ["record_stream"]
            self.device.log.add(entry)


def _first(names: tuple[str, ...]) -> str:
    return next(filter(None, names), "")
