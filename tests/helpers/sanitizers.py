"""What torch's and torch_npu's sanitizers say of a random forward, driven by its actions and not by a recording."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

from stream_programs import BUFFER, ENTER, INPUTS, LEAVE, Access, Action, Forward
from torch.cuda._sanitizer import EventHandler

ROOT = Path(__file__).parents[2]
_ROOM = 100
"""How far the blocks lie apart."""


class Place(NamedTuple):
    """A kernel or an allocation: the call that issues it, and its line."""

    call: int
    line: int


class Pair(NamedTuple):
    """Two accesses to a block that nothing orders."""

    before: Place
    after: Place
    block: str


class Escape(NamedTuple):
    """A block that is freed while a stream may still use it."""

    call: int  # of its allocation
    block: str
    user: int


@dataclass
class Driver:
    """Issues the actions of a forward, call by call, to a sanitizer."""

    forward: Forward
    handler: Any
    calls: int
    current: int = 0
    pairs: set[Pair] = field(default_factory=set)
    _addresses: dict[tuple[str, int], int] = field(default_factory=dict)
    _blocks: dict[int, tuple[str, int]] = field(default_factory=dict)
    _places: dict[int, Place] = field(default_factory=dict)
    _syncs: int = 1000

    def run(self) -> None:
        """Issue all calls."""
        for stream in range(1, self.forward.sides + 1):
            self.handler._handle_stream_creation(stream)
        for event in range(self.forward.events):
            self.handler._handle_event_creation(event)
        self.allocate(BUFFER, 0, 0)
        for call in range(self.calls):
            for name in INPUTS:
                self.allocate(name, call, 0)
            self.launch(Place(call, ENTER), 0, (), tuple(Access(name, 0) for name in INPUTS))
            for number, action in enumerate(self.forward.actions):
                self.issue(action, Place(call, self.forward.first + number))
            outputs = tuple(Access(name, 0) for name in self.forward.returned)
            self.launch(Place(call, LEAVE), 0, outputs, ())
            for name in dict.fromkeys((*self.forward.returned, *INPUTS)):
                if name != BUFFER:
                    self.free(name, call)

    def issue(self, action: Action, place: Place) -> None:
        """Issue one action."""
        handler, stream, event = self.handler, action.stream, action.event
        match action.what:
            case "kernel":
                if action.fresh:
                    self.allocate(action.fresh, place.call, stream)
                self.launch(place, stream, action.reads, action.writes)
            case "alloc":
                self.allocate(action.fresh, place.call, stream)
                self.launch(place, stream, (), ())
            case "drop":
                if action.block:
                    self.free(action.block, place.call)
            case "record_stream":
                self.tell(self.base(action.block, place.call), stream)
            case "record":
                handler._handle_event_record(event, stream)
            case "wait":
                handler._handle_event_wait(event, stream)
            case "wait_stream":
                self._syncs += 1
                handler._handle_event_creation(self._syncs)
                handler._handle_event_record(self._syncs, action.other)
                handler._handle_event_wait(self._syncs, stream)
            case "sync stream":
                handler._handle_stream_synchronization(stream)
            case "sync event":
                handler._handle_event_synchronization(event)
            case "sync device":
                handler._handle_device_synchronization()

    def launch(self, place: Place, stream: int, reads: tuple[Access, ...], writes: tuple[Access, ...]) -> None:
        """A kernel, and what the sanitizer says of it."""
        self.current = stream
        written = {self.address(access, place.call) for access in writes}
        read = {self.address(access, place.call) for access in reads}
        touched = read | written
        self._places[self.handler.seq_num + 1] = place
        aliases: dict[int, list[str]] = {address: [] for address in touched}
        errors = self.kernel(stream, read - written, written, aliases)
        for error in errors:
            before = self._places[error.previous_access.seq_num]
            self.pairs.add(Pair(before, place, self._blocks[error.data_ptr // _ROOM][0]))

    def kernel(self, stream: int, read: set[int], written: set[int], aliases: dict[int, list[str]]) -> list[Any]:
        return list(self.handler._handle_kernel_launch(stream, read, written, set(), "", aliases))

    def allocate(self, block: str, call: int, stream: int) -> None:
        self.current = stream
        self.handler._handle_memory_allocation(self.base(block, call))

    def free(self, block: str, call: int) -> None:
        self.handler._handle_memory_deallocation(self.base(block, call))

    def tell(self, address: int, stream: int) -> None:
        """`record_stream`, of which torch's sanitizer knows nothing."""

    def base(self, block: str, call: int) -> int:
        """The address of a block; a new one in each call, but for the buffer."""
        key = block, 0 if block == BUFFER else call
        if key not in self._addresses:
            self._addresses[key] = _ROOM * (len(self._addresses) + 1)
            self._blocks[len(self._addresses)] = key
        return self._addresses[key]

    def address(self, access: Access, call: int) -> int:
        return self.base(access.block, call) + access.offset


def torch_pairs(forward: Forward, calls: int) -> set[Pair]:
    """The pairs that `torch.cuda._sanitizer` reports: each access against the last write, or the reads since."""
    driver = Driver(forward, EventHandler(), calls)
    driver.run()
    return driver.pairs


@dataclass
class NpuDriver(Driver):
    """Besides, what torch_npu's handler says of frees, and why we may not."""

    escapes: set[Escape] = field(default_factory=set)
    excused: dict[Escape, str] = field(default_factory=dict)
    _pending: list[tuple[Escape, int, int]] = field(default_factory=list)  # with the home stream and the use's number

    def kernel(self, stream: int, read: set[int], written: set[int], aliases: dict[int, list[str]]) -> list[Any]:
        bases = {address - address % _ROOM for address in read | written}
        self.settle(stream)
        return list(self.handler._handle_kernel_launch(stream, read, written, set(), "", aliases, bases))

    def tell(self, address: int, stream: int) -> None:
        self.handler._handle_record_stream(address, stream)

    def free(self, block: str, call: int) -> None:
        base, before = self.base(block, call), len(self.handler.record_stream_errors)
        told = set(self.handler._npu_tensors[base].recorded_streams)
        super().free(block, call)
        states = self.handler.syncs.current_sync_states
        for error in self.handler.record_stream_errors[before:]:
            escape, number = Escape(call, block, error.usage_stream), error.usage.seq_num
            self.escapes.add(escape)
            self._pending.append((escape, error.allocation_stream, number))
            if any(states[stream].get(error.usage_stream, -1) >= number for stream in told):
                self.excused[escape] = "the stream that was told of had waited for the use"

    def settle(self, stream: int) -> None:
        """A stream goes on: it may get the blocks that were freed on it, and had better have waited for their uses."""
        states = self.handler.syncs.current_sync_states
        for escape, home, number in self._pending:
            if home == stream and states[home].get(escape.user, -1) >= number:
                self.excused.setdefault(escape, "the wait lies between the free and the next allocation")
        self._pending = [each for each in self._pending if each[1] != stream]


def npu_escapes(forward: Forward, calls: int, handler: type[Any]) -> NpuDriver:
    """What torch_npu's sanitizer says of missing `record_stream`s."""
    driver = NpuDriver(forward, handler(), calls)
    _CURRENT.stream = lambda: driver.current
    driver.run()
    return driver


_CURRENT = SimpleNamespace(stream=lambda: 0)
"""What torch_npu is asked for while its handler runs without it."""


def npu_handler() -> type[Any] | None:
    """The handler in torch_npu's wheel, with a stand-in for the rest of it; None where there is no wheel."""
    path = next(_stream_checks(), None)
    if path is None:
        return None
    stub = ModuleType("torch_npu")
    stub.npu = SimpleNamespace(current_stream=lambda: SimpleNamespace(npu_stream=_CURRENT.stream()))  # type: ignore[attr-defined]
    spec = importlib.util.spec_from_file_location("npu_stream_check", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    had = sys.modules.get("torch_npu")
    sys.modules["torch_npu"] = stub
    try:
        sys.modules[spec.name] = module  # dataclasses look their module up
        spec.loader.exec_module(module)
    finally:
        if had is None:
            del sys.modules["torch_npu"]
        else:
            sys.modules["torch_npu"] = had
    module.print = lambda *_, **__: None  # type: ignore[attr-defined]
    found = module.NPURecordStreamHandler
    assert isinstance(found, type)
    return found


def _stream_checks() -> Iterator[Path]:
    folders = [Path(path) for path in sys.path if path]
    folders += ROOT.glob(".venv-npu/lib/python3*/site-packages")
    yield from (p for folder in folders if (p := folder / "torch_npu" / "npu" / "_stream_check.py").is_file())
