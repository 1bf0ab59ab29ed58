"""Watching a model while it is traced: each call into torch, each call of a module, each buffer that is assigned."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import torch
from torch.fx.traceback import annotate, preserve_node_meta
from torch.overrides import TorchFunctionMode

from streamsched.dsl.trace.model import NONE
from streamsched.dsl.trace.tracing.assembly.graph import COND
from streamsched.dsl.trace.tracing.cond import names
from streamsched.dsl.trace.tracing.provenance import indices
from streamsched.dsl.trace.tracing.provenance.issues import ISSUE, issued_name
from streamsched.dsl.trace.tracing.provenance.recorder import Recorder
from streamsched.dsl.trace.tracing.traps import compiling


@contextlib.contextmanager
def recording(recorder: Recorder) -> Iterator[None]:
    """Let `recorder` note what happens while the context lasts."""

    def asked(_: FrameType) -> None:
        for record in recorder.calls.running:
            record.asks_compiling = True

    watching = compiling.answered(recorder.internals, recorder.compiling, asked)
    try:
        sizes = recorder.decisions.watched() if recorder.dims.sizes else contextlib.nullcontext()
        reads = recorder.object_reads.noted(recorder.calls.note_read)
        with (
            recorder.calls.hooks(),
            _buffers(recorder),
            watching,
            reads,
            sizes,
            preserve_node_meta(),
            _Issuing(recorder),
        ):
            yield
    finally:
        recorder.calls.attributes.restore()


@contextlib.contextmanager
def _buffers(recorder: Recorder) -> Iterator[None]:
    """Note the buffers that are assigned."""
    owners = {id(module._buffers): f"{path}." if path else "" for path, module in recorder.root.named_modules()}

    def assigned(module: torch.nn.Module, name: str, value: torch.Tensor | None) -> None:
        prefix = owners.get(id(module._buffers))
        tag = recorder.tag(value) if prefix is not None and recorder.calls.current != NONE else None
        if tag is not None:
            recorder.assignments[f"{prefix}{name}"] = tag

    handle = torch.nn.modules.module.register_module_buffer_registration_hook(assigned)
    try:
        yield
    finally:
        handle.remove()


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
        casts = self._recorder.casts
        if casts.possible:
            casts.asking(func, args, sys._getframe(1))
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
        before = casts.slot(name, args) if casts.possible else None
        with annotate({ISSUE: moment}):
            result = func(*indices.with_values(func, args), **(kwargs or {}))
        if casts.possible:
            result = casts.apart(before, args[0] if args else None, result)
            casts.made(func, args, kwargs or {}, result, self._recorder.leaves.of(func) is not None)
        return result

    def _branches(self, moment: int, func: Any, args: Any) -> Any:
        """`torch.cond`, whose branches are run to be traced."""
        self._recorder.branches[moment] = names.names(sys._getframe(1), args[3])
        self._recorder.object_reads.stop()  # torch.compile looks at classes, and would not know these
        self._in_branch = True
        try:
            with annotate({ISSUE: moment}):
                return func(*args)
        finally:
            self._in_branch = False
