"""Graph capture on the virtual device: what is issued runs now, and counts as captured."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, ClassVar

from streamsched.dsl.program import via
from streamsched.dsl.program.steps import StepKind
from streamsched.dsl.record.log import Entry
from streamsched.dsl.record.recorder import Recorder
from streamsched.dsl.record.streams import VirtualStream
from streamsched.dsl.record.views import Access, all_accesses
from streamsched.dsl.trace.model import NONE


class VirtualGraph:
    """Stands in for `CUDAGraph` and `NPUGraph`."""

    recorder_of: ClassVar[Recorder]

    def __init__(self, *_: Any, **__: Any) -> None:
        self._reads: tuple[int, ...] = ()
        self._writes: tuple[int, ...] = ()
        self._views: tuple[Access, ...] = ()
        self._begin = NONE

    def capture_begin(self, *_: Any, **__: Any) -> None:
        """Capture what is issued from here on."""
        device = self.recorder_of.device
        _boundary(self.recorder_of, StepKind.CAPTURE_BEGIN)
        device.capturing = device.current
        device.captures += 1
        self._begin = len(device.log.entries)

    def capture_end(self) -> None:
        """End the capture, on the stream that it began on."""
        device = self.recorder_of.device
        inside = device.log.entries[self._begin :]
        launched = [entry for entry in inside if entry.kind is StepKind.LAUNCH and entry.stream >= 0]
        # What died in the capture is the graph's own: nobody else can name it, nor is given its memory.
        dead = {entry.storage for entry in inside if entry.kind is StepKind.FREE}
        own = {number for number in dead if self.recorder_of.memory.blocks[number].captured == device.captures}
        self._reads = tuple(dict.fromkeys(n for entry in launched for n in entry.reads if n not in own))
        self._writes = tuple(dict.fromkeys(n for entry in launched for n in entry.writes if n not in own))
        self._views = tuple(dict.fromkeys(access for entry in launched for access in all_accesses(entry)))
        _boundary(self.recorder_of, StepKind.CAPTURE_END)
        device.capturing = NONE
        for stream in dict.fromkeys(entry.stream for entry in launched):  # nothing has run: none of it is left to do
            device.log.add(Entry(StepKind.HOST_SYNC, stream, device.queues[stream].name))

    def replay(self) -> None:
        """Run what was captured, on the current stream."""
        recorder = self.recorder_of
        for number in dict.fromkeys((*self._reads, *self._writes)):
            if recorder.lacks(number):
                recorder.replayed_without.append((number, recorder.device.places.here()))
        recorder.launch("replay", self._reads, self._writes, self._views)

    def reset(self) -> None:
        """Forget what was captured."""
        self._reads = self._writes = ()

    def pool(self) -> tuple[int, int]:
        """A handle of its memory."""
        return (0, 0)


def graph_class(recorder: Recorder) -> type[VirtualGraph]:
    """The class of the graphs of one device."""

    class Graph(VirtualGraph):
        """A graph of the virtual device."""

    Graph.recorder_of = recorder
    return Graph


@contextlib.contextmanager
def captured(recorder: Recorder, graph: VirtualGraph, stream: VirtualStream) -> Iterator[None]:
    """`with torch.cuda.graph(graph, stream=stream)`: wait for everything, then capture what `stream` issues."""
    recorder.device.sync(NONE)
    recorder.device.enter(stream.number)
    graph.capture_begin()
    try:
        yield
    finally:
        recorder.device.current = recorder.device.capturing
        graph.capture_end()
        recorder.device.leave()


def graph_break(recorder: Recorder) -> None:
    """`torch._dynamo.graph_break()`: one graph ends and another begins, where code is compiled."""
    device = recorder.device
    if device.per_call:
        for kind in (StepKind.CAPTURE_END, StepKind.CAPTURE_BEGIN):
            words = [via.GRAPH_BREAK, *device.words(device.current)]
            device.log.add(Entry(kind, device.current, kind.value, source=device.places.here(), words=words))


def _boundary(recorder: Recorder, kind: StepKind) -> None:
    device = recorder.device
    stream = device.current if kind is StepKind.CAPTURE_BEGIN else device.capturing
    entry = Entry(kind, stream, kind.value, source=device.places.here(), words=device.words(stream))
    device.log.add(entry)
