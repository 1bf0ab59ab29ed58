"""Where each op comes from: the statement, the module call and the locals, noted while the model is traced."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import get_proxy_mode, get_proxy_slot

from streamsched.dsl.trace.model import NONE, Argument, Literal, Ref
from streamsched.dsl.trace.sources import Sources
from streamsched.dsl.trace.statements import FunctionSource, SourceStatement, function_source
from streamsched.dsl.trace.tracing.arguments import describe
from streamsched.dsl.trace.tracing.cond.names import Names
from streamsched.dsl.trace.tracing.dims.decisions import Decisions
from streamsched.dsl.trace.tracing.dims.symbols import Dims
from streamsched.dsl.trace.tracing.frames import Internals, Positions, raw_position
from streamsched.dsl.trace.tracing.leaves.ops import Leaves
from streamsched.dsl.trace.tracing.provenance.calls import CallRecord, Calls, forward_code
from streamsched.dsl.trace.tracing.provenance.issues import TAG, Issue
from streamsched.dsl.trace.tracing.provenance.locals import Locals
from streamsched.dsl.trace.tracing.state.object_reads import ObjectReads
from streamsched.dsl.trace.tracing.state.objects import InputObjects
from streamsched.dsl.trace.tracing.traps.autocast import Regions
from streamsched.dsl.trace.tracing.traps.casts import CastDtypes
from streamsched.dsl.trace.visits import Visits


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
        regions: Regions | None = None,
    ) -> None:
        self.leaves = leaves or Leaves(root, ())
        self.dims = dims or Dims({})
        self.decisions = Decisions(internals, lambda: self.leaves.inside)
        self.casts = CastDtypes(regions or Regions(), internals)
        self.positions = Positions(sources)
        self._objects = InputObjects()
        self.locals = Locals(self.tag)
        self.object_reads = ObjectReads(root)
        self.calls = Calls(root, self.tick, self.describe, self.locals.observe, self._objects, self.leaves)
        self.issues: dict[int, Issue] = {}
        self.names: dict[int, str] = {}  # by issue: what was called
        self.branches: dict[int, tuple[Names, Names]] = {}  # by issue: what is called where
        self.assignments: dict[str, int] = {}  # buffer's path to tag: `self.buffer = tensor`
        self.outside = False  # whether a hook of the root issued something before its forward()
        self.code = forward_code(root)
        self.function = _function_source(self.code) if self.code else FunctionSource(())
        self.compiling = compiling  # what forward() is told when it asks
        self.root = root
        self.internals = internals
        self._visits = Visits()
        self._time = 0
        self._tags = 0

    def tick(self) -> int:
        """The time, which grows each time that it is asked for."""
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
        self.locals.observe(running[-1], self.calls.current)
        if root is not running[-1]:
            self.locals.observe(root, 0)
        visible = [f for f in frames if f is root.frame or f.f_code.co_filename not in self.internals]
        stack = self.positions.stack(tuple(self.positions.position(f) for f in reversed(visible)))
        statement, visit = self._statement(root.frame, frames)
        moment = self.tick()
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
        return frame.f_code.co_name == "__torch_function__" and frame.f_code.co_filename in self.internals

    def forget_asking(self) -> None:
        """Nobody asked whether it is being compiled, as far as it matters."""
        for record in self.calls.records:
            record.asks_compiling = False

    # Names of tensors

    def local_name(self, tag: int, statement: int) -> str:
        """The local of the scope's forward() that holds a tensor; of several, one that the op's statement binds."""
        return self.locals.name(tag, self.function.statements[statement].binds if statement != NONE else ())

    def inner_name(self, tag: int, call: int) -> str:
        """The local that holds it in the forward() of the nearest call from `call` outward, the scope's left out."""
        return self.locals.inner(tag, call, lambda index: self.calls.records[index].parent)


def _function_source(code: CodeType) -> FunctionSource:
    try:
        text = Path(code.co_filename).read_text()
    except (OSError, UnicodeDecodeError):
        text = "".join(linecache.getlines(code.co_filename))
    return function_source(text, code.co_name, code.co_firstlineno)
