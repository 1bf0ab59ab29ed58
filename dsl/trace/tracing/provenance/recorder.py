"""Where each op comes from: the statement, the module call and the locals, noted while the model is traced."""

from __future__ import annotations

import contextlib
import linecache
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import get_proxy_mode, get_proxy_slot
from torch.fx.traceback import annotate, preserve_node_meta
from torch.overrides import TorchFunctionMode

from streamsched.dsl.trace.model import NONE, Argument, Literal, Ref
from streamsched.dsl.trace.sources import Sources
from streamsched.dsl.trace.statements import FunctionSource, SourceStatement, function_source
from streamsched.dsl.trace.tracing.arguments import describe
from streamsched.dsl.trace.tracing.assembly.graph import COND
from streamsched.dsl.trace.tracing.cond import names as branch_names
from streamsched.dsl.trace.tracing.cond.names import Names
from streamsched.dsl.trace.tracing.dims.decisions import Decisions
from streamsched.dsl.trace.tracing.dims.symbols import Dims
from streamsched.dsl.trace.tracing.frames import Internals, Positions, raw_position
from streamsched.dsl.trace.tracing.leaves.ops import Leaves
from streamsched.dsl.trace.tracing.provenance import indices
from streamsched.dsl.trace.tracing.provenance.calls import CallRecord, Calls, forward_code
from streamsched.dsl.trace.tracing.state.objects import InputObjects
from streamsched.dsl.trace.tracing.traps import compiling
from streamsched.dsl.trace.visits import Visits

ISSUE = "streamsched_issue"
"""The annotation of a graph node with the issue that made it."""
TAG = "streamsched_tag"
"""The annotation of a graph node that an argument tree or a local refers to."""

_PROPERTIES_WITH_OPS = frozenset({"T", "mT", "H", "mH", "data", "real", "imag", "grad"})
_QUERIES = frozenset(
    {"size", "dim", "stride", "numel", "is_contiguous", "is_floating_point", "element_size", "__len__"}
)


@dataclass(frozen=True, slots=True)
class Issue:
    """One call into torch: what the ops that it makes have in common."""

    call: int
    stack: int
    statement: int  # of Recorder.function
    visit: int


NOWHERE = Issue(0, NONE, NONE, 0)
"""Of what no call into torch made."""


class Recorder:
    """Everything noted during one trace. The clock ticks with each issue and each begin and end of a call."""

    def __init__(
        self,
        root: torch.nn.Module,
        sources: Sources,
        internals: Internals,
        leaves: Leaves | None = None,
        dims: Dims | None = None,
        compiling: bool = True,
    ) -> None:
        self.leaves = leaves or Leaves(root, ())
        self.dims = dims or Dims({})
        self.decisions = Decisions(internals, lambda: self.leaves.inside)
        self.positions = Positions(sources)
        self._objects = InputObjects()
        self.calls = Calls(root, self._tick, self.describe, self._observe, self._objects, self.leaves)
        self.issues: dict[int, Issue] = {}
        self.names: dict[int, str] = {}  # by issue: what was called
        self.branches: dict[int, tuple[Names, Names]] = {}  # by issue: what is called where
        self.locals: dict[int, list[str]] = {}  # by tag: what holds it at the first traced call after it was made
        self.holding: dict[int, dict[str, None]] = {}  # by tag: all that hold it at any traced call, in order
        self.items: dict[int, str] = {}  # by tag: the list that holds it, with its index
        self.inner: dict[int, dict[int, str]] = {}  # by tag and call
        self.assignments: dict[str, int] = {}  # buffer's path to tag: `self.buffer = tensor`
        self.outside = False  # whether a hook of the root issued something before its forward()
        self.code = forward_code(root)
        self.function = (
            _function(self.code.co_filename, self.code.co_name, self.code.co_firstlineno)
            if self.code
            else FunctionSource(())
        )
        self._compiling = compiling
        self._root = root
        self._internals = internals
        self._visits = Visits()
        self._time = 0
        self._tags = 0

    def _tick(self) -> int:
        self._time += 1
        return self._time

    # Tensors and graph nodes

    def tag(self, tensor: object) -> int | None:
        """The tag of the graph node that makes a tensor or a traced number; None for what the graph does not know."""
        mode = get_proxy_mode()
        if mode is None:
            return None
        slot: Any = get_proxy_slot(tensor, mode.tracer, None)  # type: ignore[call-overload]
        if slot is None:
            return None
        proxy = slot.proxy if hasattr(slot, "proxy") else slot.force()
        custom = proxy.node.meta.setdefault("custom", {})
        if TAG not in custom:
            self._tags += 1
            custom[TAG] = self._tags
        return int(custom[TAG])

    def describe(self, value: object) -> Argument:
        """An object of the user's as an argument tree, whose `Ref`s hold tags."""
        return describe(value, self._ref)

    def _ref(self, value: object) -> Argument | None:
        if isinstance(value, torch.device):
            return Literal(f"torch.device({str(value)!r})")
        if not isinstance(value, torch.Tensor | torch.SymInt | torch.SymFloat | torch.SymBool):
            name = self._objects.name(value)
            return None if name is None else Literal(name)
        size = self.dims.text(value)
        if size is not None:
            return Literal(size)
        tag = self.tag(value)
        return None if tag is None else Ref(tag)

    # Issues

    def issue(self) -> int:
        """Note a call into torch; the moment is its number."""
        if self.calls.current == NONE:
            return NONE
        frames = self._frames(sys._getframe(2))
        running = self.calls.running
        root = running[0]
        self._locate(frames, running[-1])
        self._locate(frames, root)
        self.outside = self.outside or root.frame is None
        self._observe(running[-1], self.calls.current)
        if root is not running[-1]:
            self._observe(root, 0)
        visible = [f for f in frames if f is root.frame or f.f_code.co_filename not in self._internals]
        stack = self.positions.stack(tuple(self.positions.position(f) for f in reversed(visible)))
        statement, visit = self._statement(root.frame, frames)
        moment = self._tick()
        self.issues[moment] = Issue(self.calls.current, stack, statement, visit)
        return moment

    def _frames(self, frame: FrameType | None) -> list[FrameType]:
        """The frames from the innermost to the root's forward; all if that one is not there."""
        root = self.calls.running[0].frame
        frames: list[FrameType] = []
        while frame is not None:
            frames.append(frame)
            if frame is root:
                return frames
            frame = frame.f_back
        outermost = max((i for i, f in enumerate(frames) if f.f_code is self.code), default=None)
        return frames if outermost is None else frames[: outermost + 1]

    def _locate(self, frames: list[FrameType], record: CallRecord) -> None:
        """Find the frame of a call's forward()."""
        if record.frame is not None or record.code is None:
            return
        for frame in frames:
            if frame.f_code is record.code:
                record.frame = frames[-1] if record.parent == NONE else frame
                return

    def _statement(self, root: FrameType | None, frames: list[FrameType]) -> tuple[int, int]:
        if root is None or frames[-1] is not root:
            return NONE, 0
        line, end_line, column, end_column = raw_position(root.f_code, root.f_lasti)
        found = self.function.find(line, column)
        if found is None:
            return NONE, 0
        statement: SourceStatement = self.function.statements[found]
        repeats = statement.may_repeat((line, column), (end_line, end_column))
        inner = next((f for f in reversed(frames[:-1]) if not self._is_dispatch(f)), None)
        return found, self._visits.visit(found, root.f_lasti, inner, repeats)

    def _is_dispatch(self, frame: FrameType) -> bool:
        """Whether a frame is one of the modes' that stand between a call into torch and the recorder."""
        return frame.f_code.co_name == "__torch_function__" and frame.f_code.co_filename in self._internals

    # Locals

    def local_name(self, tag: int, statement: int) -> str:
        """The local of the scope's forward() that holds a tensor; of several, one that the op's statement binds.

        What only a list holds is called after the list: `parts_0`.
        """
        names = self.locals.get(tag) or [self.items.get(tag, "")]
        bound = self.function.statements[statement].binds if statement != NONE else ()
        return next((name for name in names if name in bound), names[0])

    def aliases(self, tag: int, local: str) -> tuple[str, ...]:
        """The locals of the scope's forward() beside `local` that hold a tensor at some time, in order."""
        return tuple(name for name in self.holding.get(tag, ()) if name != local)

    def inner_name(self, tag: int, call: int) -> str:
        """The local that holds a tensor in the forward() of `call`, or else of the nearest call around it; the
        scope's own left out."""
        names = self.inner.get(tag, {})
        while call > 0:
            if call in names:
                return names[call]
            call = self.calls.records[call].parent
        return ""

    def _observe(self, record: CallRecord, index: int) -> None:
        """Note the tensors that the locals of a call's forward() hold now."""
        if record.frame is None:
            return
        before = record.locals
        now = dict(record.frame.f_locals)
        new: dict[int, list[str]] = {}
        changed = {name: value for name, value in now.items() if before.get(name) is not value}
        for name, value in changed.items():
            tag = self.tag(value) if isinstance(value, torch.Tensor) else None
            if tag is not None:
                new.setdefault(tag, []).append(name)
        if index == 0:
            self._observe_items(changed)
        for tag, names in new.items():
            if index == 0:
                self.locals.setdefault(tag, names)
                self.holding.setdefault(tag, {}).update(dict.fromkeys(names))
            else:
                self.inner.setdefault(tag, {}).setdefault(index, names[0])
        record.locals = now

    def _observe_items(self, changed: dict[str, Any]) -> None:
        """Note the tensors in the lists and tuples among the scope's locals."""
        for name, value in changed.items():
            for index, item in enumerate(value if type(value) in (list, tuple) else ()):
                tag = self.tag(item) if isinstance(item, torch.Tensor) else None
                if tag is not None:
                    self.items.setdefault(tag, f"{name}_{index}")

    # Hooks

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Record while the context lasts."""
        watching = compiling.answered(self._internals, self._compiling, self._asked)
        try:
            asked = self.decisions.watched() if self.dims.sizes else contextlib.nullcontext()
            with self.calls.hooks(), self._buffers(), watching, asked, preserve_node_meta(), _Issuing(self):
                yield
        finally:
            self.calls.attributes.restore()

    @contextlib.contextmanager
    def _buffers(self) -> Iterator[None]:
        owners = {id(module._buffers): f"{path}." if path else "" for path, module in self._root.named_modules()}

        def assigned(module: torch.nn.Module, name: str, value: torch.Tensor | None) -> None:
            prefix = owners.get(id(module._buffers))
            tag = self.tag(value) if prefix is not None and self.calls.current != NONE else None
            if tag is not None:
                self.assignments[f"{prefix}{name}"] = tag

        handle = torch.nn.modules.module.register_module_buffer_registration_hook(assigned)
        try:
            yield
        finally:
            handle.remove()

    def forget_asking(self) -> None:
        """Nobody asked whether it is being compiled, as far as it matters."""
        for record in self.calls.records:
            record.asks_compiling = False

    def _asked(self, frame: FrameType) -> None:
        for record in self.calls.running:
            record.asks_compiling = True


def issued_name(func: Any) -> str | None:
    """What a call into torch is called; None for one that only looks at a tensor's metadata."""
    name = getattr(func, "__name__", "")
    if name == "__get__":
        attribute = getattr(func.__self__, "__name__", "")
        return attribute if attribute in _PROPERTIES_WITH_OPS else None
    return None if name in _QUERIES else name


class _Issuing(TorchFunctionMode):
    """Marks the graph nodes that each call into torch makes."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder
        self._in_branch = False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if torch.compiler.is_dynamo_compiling():  # torch.cond has its branches compiled first
            return func(*args, **(kwargs or {}))
        name = issued_name(func)
        if name is None:
            return func(*args, **(kwargs or {}))
        if name == "data":  # leaves no node; detach() is the same to inference
            func, args = torch.Tensor.detach, args[:1]
        if self._in_branch:  # its ops are part of the op that the branch belongs to
            return func(*args, **(kwargs or {}))
        moment = self._recorder.issue()
        if moment == NONE:
            return func(*args, **(kwargs or {}))
        if func is COND:
            return self._branches(moment, func, args)
        if not self._recorder.leaves.inside and not self._recorder.leaves.of(func):
            self._recorder.names[moment] = name
        with annotate({ISSUE: moment}):
            return func(*indices.with_values(func, args), **(kwargs or {}))

    def _branches(self, moment: int, func: Any, args: Any) -> Any:
        """`torch.cond`, whose branches are run to be traced."""
        self._recorder.branches[moment] = branch_names.names(sys._getframe(1), args[3])
        self._in_branch = True
        try:
            with annotate({ISSUE: moment}):
                return func(*args)
        finally:
            self._in_branch = False


def _function(filename: str, name: str, first_line: int) -> FunctionSource:
    try:
        text = Path(filename).read_text()
    except (OSError, UnicodeDecodeError):
        text = "".join(linecache.getlines(filename))
    return function_source(text, name, first_line)
