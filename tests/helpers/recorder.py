"""A torch that runs nothing: it records what a generated forward issues, on which stream, and when memory dies."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

from streamsched.dsl.program.steps import Program
from streamsched.dsl.trace.model import NONE, OpKind, refs


@dataclass(frozen=True)
class Entry:
    """One thing that happened. `ops` counts the kernels and allocations issued before it."""

    what: str  # "op", "record", "wait", "record_stream", "free"
    ident: int  # op, event or storage
    stream: str
    ops: int


class Memory:
    """The memory under one storage."""


class Tensor:
    """A tensor that is only its identity and the memory under it."""

    def __init__(self, recorder: Recorder, token: object, storages: dict[int, Memory]) -> None:
        self.recorder, self.token, self.storages = recorder, token, storages

    def view(self, *sizes: int) -> Tensor:
        return self.recorder.call("view", (self,))

    def record_stream(self, stream: Stream) -> None:
        for storage in self.storages:
            self.recorder.note("record_stream", storage, stream.name)


@dataclass(frozen=True)
class Stream:
    name: str


@dataclass
class Event:
    recorder: Recorder
    number: int

    def record(self) -> None:
        self.recorder.note("record", self.number)

    def wait(self) -> None:
        self.recorder.note("wait", self.number)


@dataclass
class Recorder:
    """Runs a generated file over `program`, checking that each op gets the operands that the trace gave it."""

    program: Program
    log: list[Entry] = field(default_factory=list)
    current: list[str] = field(default_factory=lambda: ["default"])
    limits: list[tuple[int, int]] = field(default_factory=list)
    issued: int = 0
    closing: bool = False

    def __post_init__(self) -> None:
        assert self.program.trace is not None
        self.trace = self.program.trace
        self.order = [step.op for step in self.program.steps if step.op != NONE]

    def note(self, what: str, ident: int, stream: str = "") -> None:
        if not self.closing:
            self.log.append(Entry(what, ident, stream or self.current[-1], self.issued))

    def run(self, text: str) -> None:
        """Execute the file, and its forward once."""
        fakes: dict[str, Any] = {"torch": self.torch(), "torch_npu": ModuleType("torch_npu")}
        kept = {name: sys.modules.get(name) for name in fakes}
        sys.modules.update(fakes)
        try:
            space: dict[str, Any] = {}
            exec(compile(text, "generated", "exec"), space)
        finally:
            for name, module in kept.items():
                if module is None:
                    del sys.modules[name]
                else:
                    sys.modules[name] = module
        space["_mismatch"] = lambda *_: ""
        events = tuple(Event(self, i) for i in range(len(self.program.events)))
        model = Model({s.name: Stream(s.name) for s in self.program.streams}, {self.program.name: events})
        inputs = [self.value(index) for index in self.trace.inputs]
        returned = space["forward"](model, *inputs)
        self.closing = True
        wanted = [self.token(value) for value in refs(self.trace.result)]
        assert [tensor.token for tensor in returned] == wanted, "forward() returns the wrong values"

    def torch(self) -> Torch:
        npu = SimpleNamespace(
            npugraph_ex=SimpleNamespace(scope=SimpleNamespace(limit_core_num=self.limit)),
            stream=self.stream,
            Stream=lambda priority=0: object(),
            Event=object,
            current_stream=lambda: Stream(self.current[-1]),
        )
        return Torch(self, npu)

    @contextmanager
    def stream(self, stream: Stream) -> Iterator[None]:
        self.current.append(stream.name)
        yield
        self.current.pop()

    @contextmanager
    def limit(self, aic: int, aiv: int) -> Iterator[None]:
        self.limits.append((aic, aiv))
        yield
        self.limits.pop()

    def call(self, path: str, arguments: tuple[Tensor, ...]) -> Tensor:
        if "view" in path:
            (base,) = arguments
            return Tensor(self, ("view", base.token), base.storages)
        op = self.order[self.issued]
        node = self.trace.ops[op]
        given = [argument.token for argument in arguments]
        assert given == [self.token(v) for a in node.args for v in refs(a)], f"wrong operands for {node.name}"
        self.note("op", op)
        self.issued += 1
        (result,) = refs(node.result)
        value = self.trace.values[result]
        if value.same_object != NONE:
            return arguments[0]
        held = {storage: memory for argument in arguments for storage, memory in argument.storages.items()}
        return self.value(result, held)

    def value(self, index: int, held: dict[int, Memory] | None = None) -> Tensor:
        """A tensor for a value; memory that its op does not share is new."""
        storages: dict[int, Memory] = {}
        for storage in self.trace.values[index].storages:
            memory = (held or {}).get(storage)
            if memory is None:
                memory = Memory()
                weakref.finalize(memory, self.note, "free", storage)
            storages[storage] = memory
        return Tensor(self, self.token(index), storages)

    def token(self, index: int) -> object:
        """What tells one object from another: views of one object are interchangeable."""
        value = self.trace.values[index]
        while value.same_object != NONE:
            index = value.same_object
            value = self.trace.values[index]
        if value.producer != NONE and self.trace.ops[value.producer].kind is OpKind.VIEW:
            (base,) = (v for a in self.trace.ops[value.producer].args for v in refs(a))
            return ("view", self.token(base))
        return index


@dataclass
class Torch:
    """Stands in for the module: every function of it records an op."""

    recorder: Recorder
    npu: SimpleNamespace

    def __getattr__(self, name: str) -> Operators:
        return Operators(self.recorder, f"torch.{name}")


@dataclass
class Model:
    """What the forward is called on."""

    scheduled_streams: dict[str, Stream]
    scheduled_events: dict[str, tuple[Event, ...]]


@dataclass
class Operators:
    recorder: Recorder
    path: str

    def __getattr__(self, name: str) -> Operators:
        return Operators(self.recorder, f"{self.path}.{name}")

    def __call__(self, *arguments: Tensor) -> Tensor:
        return self.recorder.call(self.path, arguments)
