"""The classes that stand in for `torch.cuda.Stream`, `torch.npu.Event` and their kin, each bound to one device."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, ClassVar

from streamsched.dsl.program import via
from streamsched.dsl.program.steps import DEFAULT
from streamsched.dsl.record.device import Device, Queue


class VirtualStream:
    """A stream. Two objects that stand for one stream are equal."""

    device_of: ClassVar[Device]
    words: ClassVar[tuple[str, ...]] = ()
    makes: ClassVar[type[VirtualEvent]]

    def __init__(self, device: Any = None, priority: int = 0, *, stream_id: int | None = None, **_: Any) -> None:
        made = self.device_of.add_stream(priority or None, self.words) if stream_id is None else stream_id
        self.number = made
        self.stream_id = self.cuda_stream = self.npu_stream = made
        self.device_index, self.device_type = 0, 1

    @property
    def device(self) -> Any:
        """The device that it is on."""
        import torch

        return torch.device(self.device_of.kind, 0)

    @property
    def priority(self) -> int:
        """What it was made with."""
        return self.device_of.queues[self.number].priority or 0

    def wait_stream(self, stream: VirtualStream) -> None:
        """Wait for all that was issued on another stream."""
        self.device_of.others.running()
        self.device_of.order(stream.number, self.number, via.WAIT_STREAM)

    def wait_event(self, event: VirtualEvent) -> None:
        """Wait for an event."""
        self.device_of.others.running()
        self.device_of.wait(event.signal, self.number)

    def record_event(self, event: VirtualEvent | None = None) -> VirtualEvent:
        """Record an event, a new one where none is given."""
        if event is None:
            event = self.makes()
            self.device_of.record(event.signal, self.number, via.NEW_EVENT)
        else:
            self.device_of.record(event.signal, self.number, via.STREAM_RECORD_EVENT)
        return event

    def synchronize(self) -> None:
        """Let the host wait for it."""
        if not self.device_of.others.running():
            self.device_of.sync(self.number, via.STREAM_SYNCHRONIZE)

    def query(self) -> bool:
        """Whether all is complete; the host goes on as if it were."""
        if not self.device_of.others.running():
            self.device_of.sync(self.number, via.QUERY)
        return True

    def __enter__(self) -> VirtualStream:
        self.device_of.enter(self.number)
        return self

    def __exit__(self, *_: object) -> None:
        self.device_of.leave()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VirtualStream) and other.number == self.number

    def __hash__(self) -> int:
        return hash(self.number)

    def __repr__(self) -> str:
        return f"<stream {self.device_of.queues[self.number].name}>"


class VirtualEvent:
    """An event."""

    device_of: ClassVar[Device]
    words: ClassVar[tuple[str, ...]] = ()

    def __init__(self, device: Any = None, enable_timing: bool = False, **_: Any) -> None:
        words = (*self.words, via.ENABLE_TIMING) if enable_timing else self.words
        self.signal = self.device_of.add_event(words)

    def record(self, stream: VirtualStream | None = None) -> None:
        """Record it on a stream, the current one where none is given."""
        self.device_of.record(self.signal, self.device_of.current_here() if stream is None else stream.number)

    def wait(self, stream: VirtualStream | None = None) -> None:
        """Let a stream wait for it, the current one where none is given."""
        self.device_of.wait(self.signal, self.device_of.current_here() if stream is None else stream.number)

    def query(self) -> bool:
        """Whether it is complete; the host goes on as if it were."""
        if self.signal.record is not None:
            self.signal.record.words.append(via.QUERY)
            if not self.device_of.per_call:
                self.device_of.await_event(self.signal, via.QUERY)
        return True

    def synchronize(self) -> None:
        """Let the host wait for it."""
        self.device_of.await_event(self.signal, via.EVENT_SYNCHRONIZE)

    def elapsed_time(self, end: VirtualEvent) -> float:
        """Milliseconds; here everything takes one, as code divides by it."""
        return 1.0


def stream_class(device: Device, words: tuple[str, ...]) -> type[VirtualStream]:
    """The class of the streams of one device; what is issued on them has `words` in its `via`."""

    class Stream(VirtualStream):
        """A stream of the virtual device."""

    Stream.device_of, Stream.words, Stream.makes = device, words, event_class(device, ())
    return Stream


def event_class(device: Device, words: tuple[str, ...]) -> type[VirtualEvent]:
    """The class of the events of one device; their records and waits have `words` in their `via`."""

    class Event(VirtualEvent):
        """An event of the virtual device."""

    Event.device_of, Event.words = device, words
    return Event


class Entered:
    """`with torch.cuda.stream(stream)`; without a stream nothing changes."""

    def __init__(self, device: Device, stream: VirtualStream | None) -> None:
        self._device, self.stream = device, stream
        self._queue: Queue | None = None  # the one that this block has marked

    def __enter__(self) -> None:
        if self.stream is not None:
            self._device.enter(self.stream.number)
            return
        queue = self._device.queues[self._device.current]
        if via.NO_STREAM not in queue.words:
            queue.words.add(via.NO_STREAM)
            self._queue = queue

    def __exit__(self, *_: object) -> None:
        if self.stream is not None:
            self._device.leave()
        elif self._queue is not None:
            self._queue.words.discard(via.NO_STREAM)


@contextlib.contextmanager
def limited(device: Device, aic: int, aiv: int, stream: VirtualStream | None) -> Iterator[None]:
    """`limit_core_num(aic, aiv)`, on the current stream or the one that is named."""
    number = device.current if stream is None else stream.number
    device.limits.append((number, stream is not None))
    if number != DEFAULT:
        device.queues[number].aic, device.queues[number].aiv = aic, aiv
    try:
        yield
    finally:
        device.limits.pop()
