"""Streams while a model is traced: they do nothing, and what the model does with them is noted.

The trace of a model that uses streams by itself is that of the model without them: `torch.cuda`, `torch.npu`,
`torch.Stream` and `torch.Event` have stand-ins, whose records and waits order nothing.
"""

from __future__ import annotations

import bisect
import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType, ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import torch

from streamsched.dsl.trace.model import NONE
from streamsched.dsl.trace.streamed import Streamed, TracedStream, TracedSync
from streamsched.dsl.trace.tracing.traps.compiling import forget_stand_ins, know_the_true_functions

_DEFAULT = 0
_ABSENT = object()
_OF_ANY_DEVICE = ("current_stream", "set_stream", "synchronize")
"""What `torch.accelerator` has of streams."""

_DEPTH = 16
"""How many frames are looked at for the name of a stream or an event."""


class _Mark(NamedTuple):
    """What was done to streams at a moment of the recorder's clock: "current", "record" or "wait"."""

    moment: int
    kind: str
    stream: int
    event: int = NONE
    name: str = ""


class Streams:
    """The streams met so far, the current one, and what was done with them since `begin`."""

    def __init__(self) -> None:
        self.made: list[dict[str, Any]] = [{"name": "default"}]
        self.current = _DEFAULT
        self._marks: list[_Mark] = []
        self._events = 0
        self._recorded = 0
        self._clock: Callable[[], int] | None = None

    def begin(self, clock: Callable[[], int]) -> None:
        """A forward() is traced from here on, whose recorder keeps time by `clock`."""
        self.current = _DEFAULT
        self._marks.clear()
        self._recorded = 0
        self._clock = clock

    def end(self) -> None:
        """Note nothing any more."""
        self._clock = None

    def note(self, kind: str, stream: int, event: int = NONE, name: str = "") -> None:
        """Note what is done now, if a forward() is being traced."""
        if self._clock is not None:
            self._marks.append(_Mark(self._clock(), kind, stream, event, name))

    def enter(self, stream: int) -> None:
        """Make a stream current."""
        self.current = stream
        self.note("current", stream)

    def new_event(self) -> int:
        """A number for another record."""
        self._events += 1
        return self._events

    def use(self, tensor: torch.Tensor, stream: Any) -> None:
        """`tensor.record_stream(stream)`."""
        self._recorded += self._clock is not None

    def over(self, moments: Sequence[int]) -> Streamed | None:
        """What was noted, over ops of these moments; None where the model did nothing with streams."""
        if not self._marks:
            return None
        changes = [mark for mark in self._marks if mark.kind == "current"]
        times = [mark.moment for mark in changes]

        def current(moment: int) -> int:
            place = bisect.bisect(times, moment)
            return changes[place - 1].stream if place else _DEFAULT

        syncs = tuple(
            TracedSync(m.kind == "wait", m.stream, m.event, bisect.bisect(moments, m.moment), m.name)
            for m in self._marks
            if m.kind != "current"
        )
        streams = tuple(TracedStream(**made) for made in self.made)
        return Streamed(streams, tuple(map(current, moments)), syncs, self._recorded)


@contextlib.contextmanager
def standing_in(streams: Streams) -> Iterator[None]:
    """Put the stand-ins in place while the context lasts, and have them tell `streams`."""
    importlib.import_module("torch._dynamo.device_interface")  # it keeps the classes that it finds when it is imported
    cuda, of_npu, of_any = (_namespace(streams) for _ in range(3))  # torch.compile wants each function to be another
    npu = getattr(torch, "npu", None) or ModuleType("torch.npu")
    questions = {} if hasattr(npu, "is_available") else {"is_available": lambda: False, "device_count": lambda: 0}
    of_npu |= questions | _npu_only(streams) | {"ExternalEvent": of_npu["Event"]}
    generic = {"Stream": of_any["Stream"], "Event": of_any["Event"], "npu": npu}
    if not hasattr(torch, "npu"):
        generic["is_autocast_enabled"] = _knowing_npu(torch.is_autocast_enabled)
    know_the_true_functions()
    with contextlib.ExitStack() as stack:
        stack.callback(forget_stand_ins)  # when all is put back
        stack.enter_context(_replaced(torch.cuda, cuda))
        stack.enter_context(_replaced(npu, of_npu))
        stack.enter_context(_replaced(torch.accelerator, {name: of_any[name] for name in _OF_ANY_DEVICE}))
        stack.enter_context(_replaced(torch, generic))
        stack.enter_context(_replaced(torch.Tensor, {"record_stream": streams.use}, method=True))
        yield


@contextlib.contextmanager
def _replaced(owner: Any, attributes: dict[str, Any], method: bool = False) -> Iterator[None]:
    before = {name: vars(owner).get(name, _ABSENT) for name in attributes}
    for name, value in attributes.items():
        setattr(owner, name, _as_method(value) if method else value)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, value)


def _as_method(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda tensor, *args: function(tensor, *args)


class _Stream:
    """A stream that does nothing. Two objects that stand for one stream are equal."""

    def __init__(self, streams: Streams, number: int) -> None:
        self._streams = streams
        self.number = self.stream_id = self.cuda_stream = self.npu_stream = number
        self.priority = streams.made[number].get("priority") or 0

    def wait_stream(self, stream: _Stream) -> None:
        """Wait for all that was issued on another stream."""
        event = self._streams.new_event()
        self._streams.note("record", stream.number, event)
        self._streams.note("wait", self.number, event)

    def wait_event(self, event: _Event) -> None:
        """Wait for an event."""
        event.wait(self)

    def record_event(self, event: _Event | None = None) -> _Event:
        """Record an event, a new one where none is given."""
        event = _Event(self._streams) if event is None else event
        event.record(self)
        return event

    def synchronize(self) -> None:
        """Do nothing."""

    def query(self) -> bool:
        """All is always complete."""
        return True

    def __enter__(self) -> _Stream:
        self._before = self._streams.current
        _name_stream(self._streams, self)
        self._streams.enter(self.number)
        return self

    def __exit__(self, *_: object) -> None:
        self._streams.enter(self._before)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Stream) and other.number == self.number

    def __hash__(self) -> int:
        return hash(self.number)

    def __deepcopy__(self, memo: object) -> _Stream:
        return self


class _Event:
    """An event that orders nothing."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        self._number = NONE
        self._name = ""

    def record(self, stream: _Stream | None = None) -> None:
        """Record it on a stream, the current one where none is given."""
        self._number = self._streams.new_event()
        self._name = self._name or _held_as(self)
        number = self._streams.current if stream is None else stream.number
        self._streams.note("record", number, self._number, self._name)

    def wait(self, stream: _Stream | None = None) -> None:
        """Let a stream wait for it; without a record before it that does nothing."""
        if self._number != NONE:
            number = self._streams.current if stream is None else stream.number
            self._streams.note("wait", number, self._number, self._name)

    def synchronize(self) -> None:
        """Do nothing."""

    def query(self) -> bool:
        """It is always complete."""
        return True

    def elapsed_time(self, end: _Event) -> float:
        """Nothing takes time here."""
        return 0.0

    def __deepcopy__(self, memo: object) -> _Event:
        return self


def _namespace(streams: Streams) -> dict[str, Any]:
    """What replaces the attributes of `torch.cuda` and `torch.npu`."""

    class Stream(_Stream):
        """A stream that does nothing."""

        def __init__(self, device: Any = None, priority: int = 0, **_: Any) -> None:
            streams.made.append({"name": f"stream{len(streams.made)}", "priority": priority or None})
            super().__init__(streams, len(streams.made) - 1)

    class Event(_Event):
        """An event that orders nothing."""

        def __init__(self, *_: Any, **__: Any) -> None:
            super().__init__(streams)

    def set_stream(stream: _Stream | None) -> None:
        if stream is not None:
            _name_stream(streams, stream)
            streams.enter(stream.number)

    class StreamContext:
        """A stream that is current; none changes nothing. A class, as torch.compile, which asks for it, expects."""

        def __init__(self, stream: _Stream | None) -> None:
            self._entered = contextlib.nullcontext() if stream is None else stream

        def __enter__(self) -> None:
            self._entered.__enter__()

        def __exit__(self, *error: Any) -> None:
            self._entered.__exit__(*error)

    return {
        "Stream": Stream,
        "ExternalStream": Stream,
        "Event": Event,
        "current_stream": lambda _=None: _Stream(streams, streams.current),
        "default_stream": lambda _=None: _Stream(streams, _DEFAULT),
        "set_stream": set_stream,
        "stream": StreamContext,
        "StreamContext": StreamContext,
        "synchronize": lambda _=None: None,
        "is_current_stream_capturing": lambda: False,
    }


def _knowing_npu(asked: Callable[..., bool]) -> Callable[..., bool]:
    """Whether autocast is on, which torch cannot say of an NPU without torch_npu: there it is off."""
    return lambda *device: False if device == ("npu",) else asked(*device)


def _npu_only(streams: Streams) -> dict[str, Any]:
    """What `torch.npu` has besides: limits of cores."""

    def limit(stream: _Stream, aic: int, aiv: int) -> None:
        streams.made[stream.number] |= {"aic": aic, "aiv": aiv}

    def limit_core_num(aic: int, aiv: int, stream: _Stream | None = None) -> Any:
        limit(stream or _Stream(streams, streams.current), aic, aiv)
        return contextlib.nullcontext()

    scope = SimpleNamespace(limit_core_num=limit_core_num)
    return {
        "npugraph_ex": SimpleNamespace(scope=scope),
        "set_stream_limit": limit,
        "reset_stream_limit": lambda stream: None,
    }


def _name_stream(streams: Streams, stream: _Stream) -> None:
    """Name a stream after what holds it where it is first entered, if it has no name yet."""
    made = streams.made[stream.number]
    name = _held_as(stream) if made["name"] == f"stream{stream.number}" else ""
    if name and name not in (other["name"] for other in streams.made):
        made["name"] = name


def _held_as(thing: object) -> str:
    """The local, attribute or key that holds a stream or an event in the innermost function that knows it."""
    frame: FrameType | None = sys._getframe(2)
    for _ in range(_DEPTH):
        if frame is None:
            break
        if frame.f_code.co_filename != __file__:
            name = _name_in(frame.f_locals, thing)
            if name:
                return name
        frame = frame.f_back
    return ""


def _name_in(names: dict[str, Any], thing: object) -> str:
    for name, value in names.items():
        if value is thing:
            return name
    receiver = names.get("self")
    for name, value in vars(receiver).items() if isinstance(receiver, torch.nn.Module) else ():
        if value is thing:
            return name
        for key, item in value.items() if isinstance(value, dict) else ():
            if item is thing and isinstance(key, str):
                return key
    return ""
