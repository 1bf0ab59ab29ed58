"""The waist of the hourglass: what one host thread issues, in order.

A `Program` is built by a schedule over a trace, by a recorded run of hand-written code, or from a runtime's launch
log; it knows neither its builders nor its readers. Ids are indices: stream 1 is `program.streams[1]`; `NONE` (-1)
stands for "there is none". Stream 0 is always `default`.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import NamedTuple

from streamsched.dsl.devices.device import Device
from streamsched.dsl.diagnostic import Span
from streamsched.dsl.trace.model import NONE, Dim, StorageKind, Trace

DEFAULT = 0
"""The stream that is the caller's current one."""


class StepKind(enum.Enum):
    """What the host does in one step."""

    ENTRY = "entry"  # forward() begins: a step on `default` that writes every input
    LAUNCH = "launch"  # a kernel
    ALLOC = "alloc"  # memory without a kernel: counts as a write on the home stream
    FREE = "free"  # the last name of a storage dies
    RECORD = "record"
    WAIT = "wait"
    RECORD_STREAM = "record_stream"  # `stream` is the foreign stream that uses `storage`
    HOST_SYNC = "host_sync"  # the host waits for `stream` (all streams where NONE)
    CAPTURE_BEGIN = "capture_begin"
    CAPTURE_END = "capture_end"
    EXIT = "exit"  # forward() ends: a step on `default` that reads every output


class Hazard(enum.Enum):
    """Why one access must follow another."""

    RAW = "RAW"
    WAR = "WAR"
    WAW = "WAW"


class OrderKind(enum.Enum):
    """Where a required order comes from."""

    EDGE = "edge"  # declared in the schedule
    ENTRY = "entry"  # entry precedes the first kernel or allocation of every side stream
    EXIT = "exit"  # exit follows the last kernel or allocation of every side stream


@dataclass(frozen=True, slots=True)
class Stream:
    """A FIFO queue on the device. `span` is where it was declared; cores and priority are limits asked for.

    `of_group` tells that it belongs to a process group: the collectives run there, and the code neither makes nor
    enters it.
    """

    name: str
    span: Span | None = None
    priority: int | None = None
    aic: int | None = None
    aiv: int | None = None
    of_group: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """A named set of ops, or an unnamed selector that stood in a group's place (`name` is then its text).

    `span` is its definition and `placed` the placement statement that put it on a stream, if one did.
    """

    name: str
    span: Span
    placed: Span | None = None
    stream: int = DEFAULT


@dataclass(frozen=True, slots=True)
class Holding:
    """What the schedule says of the ops of `group`: that they communicate, or else that they run in batch mode.

    Either way they hold cores while they wait for others: `aic` cube cores and `aiv` vector cores, None where it is not
    said how many.
    """

    group: int
    collective: bool
    aic: int | None
    aiv: int | None
    span: Span


@dataclass(frozen=True, slots=True)
class Storage:
    """The memory under values, as the program uses it. `home` is the stream that it was allocated on.

    `output` tells that forward() returns a value in it.
    """

    name: str
    kind: StorageKind
    nbytes: Dim = 0
    home: int = DEFAULT
    output: bool = False


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a wait is there: a dependency on `storage`, or the required order `order`, between two steps."""

    before: int  # step
    after: int  # step
    hazard: Hazard | None = None
    storage: int = NONE
    order: int = NONE  # Program.required

    def __post_init__(self) -> None:
        assert (self.hazard is None) == (self.storage == NONE) and (self.hazard is None) != (self.order == NONE), self


class Parts(NamedTuple):
    """What a step reads and writes, by `Program.parts` where a storage has parts."""

    reads: tuple[int, ...]
    writes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that the host issues.

    `name` is the op's, the storage's or the event's, for people. `selector` is the text that selects exactly this
    op in a schedule (`value "B"`, `node "add_1"`), where there is one. `groups` are the groups that hold the op.
    """

    kind: StepKind
    stream: int
    name: str
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    event: int = NONE  # of RECORD and WAIT
    storage: int = NONE  # of ALLOC, FREE and RECORD_STREAM
    op: int = NONE  # of `Program.trace`
    groups: tuple[int, ...] = ()
    selector: str = ""
    source: Span | None = None  # in the user's model
    via: str = ""  # the spelling of the API that issued it; empty where it was generated
    reasons: tuple[Reason, ...] = ()  # of WAIT
    issued_on: int = NONE  # of a collective, which runs on the stream of its group: the stream that is current
    parts: Parts | None = None  # None where it touches no storage that has parts

    def __post_init__(self) -> None:
        if self.event == NONE:
            assert self.kind is not StepKind.RECORD and self.kind is not StepKind.WAIT, self
        if self.storage == NONE:
            assert self.kind is not StepKind.FREE and self.kind is not StepKind.RECORD_STREAM, self

    @property
    def touched(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """What it reads and what it writes, as finely as is known."""
        return (self.reads, self.writes) if self.parts is None else self.parts

    @property
    def issuer(self) -> int:
        """The stream that is current where the host issues it."""
        return self.stream if self.issued_on == NONE else self.issued_on

    @property
    def runs(self) -> bool:
        """Whether it takes a place in its stream's order of accesses: entry, exit, kernels and allocations."""
        kind = self.kind
        return kind is StepKind.LAUNCH or kind is StepKind.ALLOC or kind is StepKind.ENTRY or kind is StepKind.EXIT


@dataclass(frozen=True, slots=True)
class Order:
    """A required order: every step of `before` completes before any step of `after` starts.

    One virtual node, never pairs. `label` is the edge as written (`a -> b`), `entry` or `exit`.
    """

    kind: OrderKind
    label: str
    before: tuple[int, ...]  # steps
    after: tuple[int, ...]  # steps
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Program:
    """What one host thread issues, in order, with the order that is required of it.

    `span` is where the program as a whole was asked for (the `schedule` statement), `insert` the empty span where a
    statement can be added, if there is a text to add it to. `whole_graph` tells that one graph holds the whole
    program (npugraph_ex over the whole model), so that outputs leave it by copy; `inside_graph` that one graph holds it
    among others (npugraph_ex, a part of the model), so that inputs and outputs are the graph's own memory. `device` is
    None where the schedule names none; `graphs` are how many graphs of the program one process captures.

    `parts` are parts of storages, each by its storage; of number i is the part `len(storages) + i`. What touches
    disjoint bytes of a storage that has parts touches different ones.
    """

    name: str
    target: str
    streams: tuple[Stream, ...]
    storages: tuple[Storage, ...]
    events: tuple[str, ...]
    groups: tuple[Group, ...]
    steps: tuple[Step, ...]
    required: tuple[Order, ...]
    span: Span
    insert: Span | None = None
    whole_graph: bool = False
    trace: Trace | None = None
    schedule_digest: str = ""  # SHA-256 of the schedule's tree, comments left out
    inside_graph: bool = False
    device: Device | None = None
    graphs: int = 1
    holdings: tuple[Holding, ...] = ()
    parts: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        assert self.streams and self.streams[DEFAULT].name == "default", "stream 0 is `default`"
        for order in self.required:
            assert order.before and order.after, order

    def storage_of(self, touched: int) -> int:
        """The storage of a part; a storage is its own."""
        return touched if touched < len(self.storages) else self.parts[touched - len(self.storages)]
