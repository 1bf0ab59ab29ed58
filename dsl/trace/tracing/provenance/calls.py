"""The calls of modules, recorded by global forward hooks."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import torch
import torch.nn.modules.module as module_state
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from streamsched.dsl.trace.model import NONE, Argument, Literal
from streamsched.dsl.trace.tracing.accessors import module_accessor
from streamsched.dsl.trace.tracing.arguments import literal, replaced
from streamsched.dsl.trace.tracing.failures import Place
from streamsched.dsl.trace.tracing.leaves.ops import Leaves
from streamsched.dsl.trace.tracing.state.attributes import Change, PlainAttributes
from streamsched.dsl.trace.tracing.state.objects import InputObjects, Put

NOTHING = Literal("None")


@dataclass(slots=True)
class CallRecord:
    """One call of a module while it is traced. `entered` and `left` are moments on the recorder's clock."""

    path: str
    occurrence: int
    module: torch.nn.Module
    code: CodeType | None
    parent: int
    entered: int
    left: int = -1
    args: tuple[Argument, ...] = ()
    kwargs: tuple[tuple[str, Argument], ...] = ()
    result: Argument = NOTHING
    asks_compiling: bool = False
    hooked: bool = False
    reads: dict[str, str] = field(default_factory=dict)  # what was read of objects that modules hold: its value
    frame: FrameType | None = None
    locals: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Returned:
    """What the scope's forward() returned: where (None if nobody saw it), and the classes that the trace replaces by
    others, each with what it becomes."""

    place: Place | None
    replaced: tuple[tuple[str, str], ...]


def forward_code(module: torch.nn.Module) -> CodeType | None:
    """The code of a module's own forward(), under its decorators."""
    function = inspect.unwrap(module.forward)
    return getattr(getattr(function, "__func__", function), "__code__", None)


def _key(module: torch.nn.Module) -> int:
    """What identifies a module: torch.export calls proxies that share its attributes where one has two names."""
    return id(vars(module))


class Calls:
    """The stack of module calls, and all calls so far."""

    def __init__(
        self,
        root: torch.nn.Module,
        clock: Callable[[], int],
        describe: Callable[[Any], Argument],
        observe: Callable[[CallRecord, int], None],
        objects: InputObjects,
        leaves: Leaves,
    ) -> None:
        self._root = _key(root)
        self._scope = root
        self._modules = {_key(module): (path, module) for path, module in root.named_modules()}
        self._clock = clock
        self._describe = describe
        self._observe = observe
        self._objects = objects
        self._leaves = leaves
        self.attributes = PlainAttributes(root)
        self.changed: tuple[Change, ...] = ()
        self.puts: tuple[tuple[Put, Argument], ...] = ()
        self.reshaped: tuple[str, ...] = ()
        self.constants: tuple[tuple[str, str], ...] = ()
        self.returned: Returned | None = None
        self._stack: list[int] = []
        self._seen: dict[str, int] = {}
        self.records: list[CallRecord] = []

    @property
    def current(self) -> int:
        """The innermost running call; NONE outside of the root's."""
        return self._stack[-1] if self._stack else NONE

    @property
    def running(self) -> tuple[CallRecord, ...]:
        """The running calls, outermost first."""
        return tuple(self.records[index] for index in self._stack)

    def note_read(self, expression: str, value: str) -> None:
        """An attribute of an object was read: by the code of the running call, of its decorators, or of functions."""
        if self._stack and not self._leaves.inside:
            self.records[self._stack[-1]].reads.setdefault(expression, value)

    def target(self, change: Change) -> str:
        """The expression of an attribute that changed: `self.layers[0].count`."""
        return f"self{module_accessor(self._scope, change.path)}.{change.name}"

    @contextlib.contextmanager
    def hooks(self) -> Iterator[None]:
        """Record calls while the context lasts."""
        handles = [
            register_module_forward_pre_hook(self._enter),
            self._scope.register_forward_pre_hook(self._given, with_kwargs=True),
            register_module_forward_hook(self._leave, with_kwargs=True, always_call=True),
        ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()
            # torch's handle leaves this mark of itself behind, and torch.compile then warns of global hooks.
            module_state._global_forward_hooks_with_kwargs.pop(handles[-1].id, None)

    def _enter(self, module: torch.nn.Module, args: tuple[Any, ...]) -> None:
        if torch.compiler.is_dynamo_compiling():  # in a branch of torch.cond, which is part of the op
            return
        if self._leaves.inside or _key(module) not in self._modules:
            return
        if not self._stack and _key(module) != self._root:
            return
        path, original = self._modules[_key(module)]
        if self._stack:
            self._observe(self.records[self._stack[-1]], self._stack[-1])
            self._objects.observe(self._stack[-1], self._clock())
        occurrence = self._seen.get(path, 0)
        self._seen[path] = occurrence + 1
        record = CallRecord(path, occurrence, original, forward_code(original), self.current, self._clock())
        record.args = tuple(self._describe(arg) for arg in args)
        record.hooked = bool(original._forward_hooks)
        self._stack.append(len(self.records))
        self.records.append(record)

    def _given(self, _: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """The scope's own call comes with these arguments; the global hook is not told those by keyword."""
        if len(self._stack) == 1:
            # Its own arguments are told by what is in them, and have names from here on.
            self.records[0].args = tuple(self._describe(arg) for arg in args)
            self.records[0].kwargs = tuple((name, self._describe(value)) for name, value in kwargs.items())
            self._objects.enter(self._scope.forward, args, kwargs)
            plain = ((place, literal(value)) for place, value in self._objects.plain())
            self.constants = tuple((place, text) for place, text in plain if text is not None)

    def _leave(self, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        if torch.compiler.is_dynamo_compiling():
            return
        if self._leaves.inside or not any(_key(self.records[index].module) == _key(module) for index in self._stack):
            return
        while True:
            record = self.records[self._stack[-1]]
            self._observe(record, self._stack[-1])
            frame = record.frame
            record.left = self._clock()
            self._objects.observe(self._stack[-1], record.left)
            record.frame = None
            record.locals = {}
            self._stack.pop()
            if _key(record.module) == _key(module):
                break
        if record.parent != NONE:
            record.kwargs = tuple((name, self._describe(value)) for name, value in kwargs.items())
        record.result = self._describe(result)
        if not self._stack:
            self.puts = tuple((put, self._describe(put.value)) for put in self._objects.puts())
            self.reshaped = self._objects.reshaped()
            self.changed = self.attributes.changed(self._leaves.holds)
            self.returned = Returned(
                Place(frame.f_code, frame.f_lasti) if frame is not None else None, tuple(replaced(result))
            )
