"""The virtual device: its streams, which of them is current, and the events between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import CodeType

from streamsched.dsl.diagnostic import Span
from streamsched.dsl.program import via
from streamsched.dsl.program.steps import DEFAULT, StepKind
from streamsched.dsl.record import sources
from streamsched.dsl.record.log import FIRST_TIME, HOST, Entry, Log
from streamsched.dsl.record.places import Places
from streamsched.dsl.record.threads import OtherThreads
from streamsched.dsl.trace.model import NONE


@dataclass(slots=True)
class Queue:
    """A stream of the device. `made_in` is the call of forward() that made it, NONE before the first.

    `words` are the `via` words that everything issued on it gets; `limited` that a core limit is in force on it.
    """

    name: str
    source: Span | None = None
    priority: int | None = None
    made_in: int = NONE
    words: set[str] = field(default_factory=set)
    aic: int | None = None
    aiv: int | None = None
    of_group: bool = False
    of_capture: bool = False  # torch made it for captures


@dataclass(slots=True)
class Signal:
    """An event as an object of the user's. `number` is that of the program's event it stands for now.

    A wait means the last record issued before it, so that each record makes another event of the program's, or each
    call of forward() does where `per_call`.
    """

    name: str
    source: Span | None
    made_in: int
    words: tuple[str, ...]
    number: int = NONE
    since: int = NONE  # the call that made `number`
    record: Entry | None = None
    stream: int = NONE
    outside: bool = False  # it was last recorded before the first call, or between two


@dataclass(frozen=True, slots=True)
class Block:
    """A `with` block of a stream that is being run: the stream, and the one to go back to."""

    stream: int
    before: int
    source: Span | None


@dataclass(frozen=True, slots=True)
class Strayed:
    """Something was issued in the block of one stream while another was current, which `setter` had made so."""

    block: int
    current: int
    setter: Span | None
    source: Span | None


class Device:
    """What `torch.cuda` and `torch.npu` stand for. `per_call` keeps one event of the program's for each call."""

    def __init__(self, log: Log, places: Places, kind: str, per_call: bool) -> None:
        self.log = log
        self.places = places
        self.others = OtherThreads(places)
        self.kind = kind
        self.queues = [Queue("default")]
        self.events: list[str] = []
        self.signals: list[Signal] = []
        self.current = DEFAULT
        self.blocks: list[Block] = []
        self.strayed: list[Strayed] = []
        self.entered: dict[int, list[int]] = {}  # by call: the side streams that were made current
        self.left: dict[int, Span | None] = {}  # by call: where the stream was set that is still current at its end
        self.owners: dict[int, Signal] = {}  # by event of the program's: the user's
        self.capturing = NONE
        self.captures = 0  # how many have begun
        self.limits: list[tuple[int, bool]] = []  # the stream each limit was set on, and whether it names it
        self._waits: dict[tuple[int, Span | None], list[Entry]] = {}  # those that have found no record yet
        self._setter: tuple[CodeType, Span] | None = None
        self.per_call = per_call

    # Streams

    def add_stream(self, priority: int | None, words: tuple[str, ...] = ()) -> int:
        """A new side stream, named after what it is bound to."""
        named = next(filter(None, self.places.bound()), "")
        source = self.places.here()
        made_in = self.log.call if self.log.running else NONE
        again = (q.name for q in self.queues if q.source == source and q.made_in < made_in and source is not None)
        name = next(again, "") or self._free(
            named or f"stream {len(self.queues)}", [queue.name for queue in self.queues]
        )
        self.queues.append(Queue(name, source, priority, made_in, set(words)))
        return len(self.queues) - 1

    def group_stream(self, name: str) -> int:
        """The stream of a process group."""
        for number, queue in enumerate(self.queues):
            if queue.of_group and queue.name == name:
                return number
        self.queues.append(Queue(name, of_group=True))
        return len(self.queues) - 1

    def name_stream(self, number: int) -> None:
        """Name a stream after the expression that it was entered by, if nothing did before."""
        call = self.places.call()
        queue = self.queues[number]
        name = sources.argument(call) if call is not None else ""
        if queue.name.startswith("stream ") and name:
            queue.name = self._free(name, [queue.name for queue in self.queues])

    def _free(self, name: str, taken: list[str]) -> str:
        found, number = name, 1
        while found in taken:
            number += 1
            found = f"{name}_{number}"
        return found

    def set_stream(self, number: int) -> None:
        """Make a stream current, until another is."""
        if self.others.running():
            self.others.enter(number)
            return
        frame = self.places.frame()
        self._setter = None if frame is None else (frame.f_code, self.places.span(frame))
        self.current = number
        self._note_entered(number)

    def enter(self, number: int) -> None:
        """Open the block of a stream."""
        if self.others.running():
            self.others.enter(number)
            return
        self.name_stream(number)
        self.blocks.append(Block(number, self.current, self.places.here()))
        self._setter = None
        self.current = number
        self._note_entered(number)

    def _note_entered(self, number: int) -> None:
        if number != DEFAULT:
            self.entered.setdefault(self.log.call, []).append(number)

    def leave(self) -> None:
        """Close the innermost block."""
        if self.others.running():
            self.others.leave()
            return
        self.current = self.blocks.pop().before

    def current_here(self) -> int:
        """The stream that is current on the thread that asks."""
        return self.others.current() if self.others.running() else self.current

    def check_stray(self) -> None:
        """Note where the current stream is not that of the block: a function called in it has set another."""
        if not self.blocks or self.blocks[-1].stream == self.current or self._setter is None:
            return
        frame = self.places.frame()
        if frame is not None and frame.f_code is not self._setter[0] and self.log.running:
            self.strayed.append(Strayed(self.blocks[-1].stream, self.current, self._setter[1], self.places.span(frame)))
            self._setter = None

    def begin_call(self) -> None:
        """Another call of forward() begins."""
        self.queues[DEFAULT].words.discard(via.DEFAULT_STREAM)
        self._setter = None

    def end_call(self) -> None:
        """A call of forward() is over; the caller goes on with its own stream."""
        if self.current != DEFAULT:
            opened = self.blocks[-1].source if self.blocks else None
            self.left[self.log.call] = self._setter[1] if self._setter else opened
        self.current = DEFAULT
        self.blocks.clear()

    def words(self, stream: int) -> list[str]:
        """The `via` words of what is issued on a stream now."""
        found = list(self.queues[stream].words)
        if self.blocks:
            found.append(via.within(self.queues[self.blocks[-1].stream].name))
        return found

    def launch_words(self) -> list[str]:
        """Those of a kernel on the current stream."""
        found = self.words(self.current)
        if any(stream != self.current and not named for stream, named in self.limits) and not any(
            stream == self.current for stream, _ in self.limits
        ):
            found.append(via.LIMIT_AROUND_BLOCK)
        return found

    def capture(self) -> int:
        """The number of the capture that is running, from 1; 0 for none."""
        return 0 if self.capturing == NONE else self.captures

    # Events

    def add_event(self, words: tuple[str, ...] = ()) -> Signal:
        """A new event, named after what it is bound to."""
        name = next(filter(None, self.places.bound()), "")
        made_in = self.log.call if self.log.running else NONE
        signal = Signal(name, self.places.here(), made_in, words)
        self.signals.append(signal)
        return signal

    def record(self, signal: Signal, stream: int, *words: str) -> Entry:
        """Record an event on a stream."""
        if stream == self.current:
            self.check_stray()
        self._name(signal)
        here = signal.since == self.log.call
        previous = signal.record if here else None
        late = signal.record is None and signal.number != NONE and here
        if not late and not (previous is not None and self.per_call):
            self._mint(signal)
        entry = Entry(StepKind.RECORD, stream, self.events[signal.number], event=signal.number)
        entry.source = self.places.here()
        entry.words = [*signal.words, *words, *self.words(stream)]
        signal.record, signal.stream, signal.outside = entry, stream, not self.log.running
        return self.log.add(entry)

    def wait(self, signal: Signal, stream: int, *words: str) -> None:
        """Let a stream, or the host, wait for an event."""
        self._name(signal)
        if signal.outside and self.log.running and not self.per_call:
            return  # what was issued before the first call is complete
        if self.per_call and signal.since != self.log.call:
            signal.record = None  # a graph has events of its own: what was recorded before it began is another one
        if signal.number == NONE or (signal.record is None and signal.since != self.log.call):
            self._mint(signal)
        entry = Entry(StepKind.WAIT, stream, self.events[signal.number], event=signal.number)
        entry.source = self.places.here()
        entry.words = [*signal.words, *words, *(self.words(stream) if stream >= 0 else ())]
        if signal.outside and self.log.running:
            entry.words.append(via.RECORDED_OUTSIDE)
        self.log.add(entry)
        waits = self._waits.setdefault((id(signal), entry.source), [])
        if signal.record is not None:
            for idle in waits:
                idle.words.append(FIRST_TIME)
            waits.clear()
        elif self.log.running:
            waits.append(entry)

    def sync(self, stream: int, *words: str) -> Entry:
        """Let the host wait for a stream; for all where it is NONE."""
        name = "all streams" if stream == NONE else "host" if stream == HOST else self.queues[stream].name
        entry = Entry(StepKind.HOST_SYNC, stream, name, source=self.places.here(), words=list(words))
        return self.log.add(entry)

    def await_event(self, signal: Signal, word: str) -> None:
        """Let the host wait for an event, and all that it issues from then on with it."""
        if self.others.running():
            return  # the thread that is recorded goes on
        if self.per_call:  # in a graph the host waits for nothing, and the target's own rules tell it
            self.sync(NONE if signal.stream == NONE else signal.stream, word)
            return
        self.wait(signal, HOST)
        self.sync(HOST, word)

    def order(self, before: int, after: int, *words: str) -> None:
        """Let the stream `after` wait for all that was issued on `before`, by an event of its own."""
        name = f"{self.queues[before].name} to {self.queues[after].name}"
        self.events.append(name)
        for kind, stream in ((StepKind.RECORD, before), (StepKind.WAIT, after)):
            entry = Entry(kind, stream, name, event=len(self.events) - 1, source=self.places.here(), words=list(words))
            if words != (via.COLLECTIVE,):
                entry.words += self.queues[stream].words
            self.log.add(entry)

    def _mint(self, signal: Signal) -> None:
        self.events.append(signal.name or f"event {self.signals.index(signal) + 1}")
        signal.number, signal.since = len(self.events) - 1, self.log.call
        self.owners[signal.number] = signal

    def _name(self, signal: Signal) -> None:
        """Name an event after the expression in the running call, if nothing did before."""
        if signal.name:
            return
        call = self.places.call()
        if call is not None:
            signal.name = sources.event_of(call, self.places.variables())
