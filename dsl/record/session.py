"""One recording: the virtual device, put in place for some of the user's code, and the program that comes of it."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import torch

from streamsched.dsl.diagnostic import Span
from streamsched.dsl.program import via
from streamsched.dsl.program.steps import DEFAULT, Program, StepKind
from streamsched.dsl.record.collectives import plain
from streamsched.dsl.record.device import Device
from streamsched.dsl.record.fake import to_meta
from streamsched.dsl.record.log import Entry, Log
from streamsched.dsl.record.places import Places
from streamsched.dsl.record.program import NPUGRAPH_EX, program_of
from streamsched.dsl.record.recorder import Recorder
from streamsched.dsl.record.views import accesses
from streamsched.dsl.record.virtual import installed
from streamsched.dsl.trace.model import StorageKind
from streamsched.dsl.trace.sources import Sources
from streamsched.dsl.trace.tracing.frames import Internals
from streamsched.dsl.trace.tracing.traps.compiling import forget_stand_ins, know_the_true_functions

Made = tuple[tuple[Any, ...], dict[str, Any]]
"""The arguments of one call."""


class Recording:
    """What is recorded for one target: `npugraph_ex`, `npu` or `cuda`.

    `base` is the folder of the user's files; `real` the device that tensors really lie on, "cpu" or "meta".
    """

    def __init__(self, target: str, base: str, sources: Sources | None = None, real: str = "cpu") -> None:
        self.target = target
        self.log = Log()
        internals = Internals(str(Path(torch.__file__).parent))
        places = Places(base, sources or Sources(base), internals, Recording.call.__code__)
        kind = "cuda" if target == "cuda" else "npu"
        self.device = Device(self.log, places, kind, per_call=target == NPUGRAPH_EX)
        self.recorder = Recorder(self.device, real)
        self._outputs: set[int] = set()
        self._span = Span(str(Path(base, "")) or ".", 1, 1, 1, 1)
        self._name = "forward"

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Put the virtual device in place while the context lasts."""
        know_the_true_functions()
        try:
            with installed(self.recorder):
                yield
        finally:
            forget_stand_ins()
        self.log.stop()
        self.recorder.memory.forget()

    def adopt(self, module: torch.nn.Module) -> None:
        """Let the parameters and buffers of a model lie on the device."""
        for name, parameter in module.named_parameters():
            self.recorder.adopt(parameter, name, StorageKind.PARAMETER)
        for name, buffer in module.named_buffers():
            self.recorder.adopt(buffer, name, StorageKind.BUFFER)

    def take(self, target: Any) -> None:
        """Let a model lie on the device, as one for inference; without values its state has none. A function stays."""
        if isinstance(target, torch.nn.Module):
            if self.recorder.fake:
                to_meta(target)
            self.adopt(target.eval())

    def watch(self, model: torch.nn.Module, paths: Iterable[str]) -> None:
        """Tell what the modules at some paths of the model issue from everything else."""

        def entered(path: str) -> Callable[..., None]:
            return lambda *_: setattr(self.log, "inside", path)

        for path in paths:
            module = model.get_submodule(path)
            module.register_forward_pre_hook(entered(path))
            module.register_forward_hook(entered(""))

    def call(self, forward: Callable[..., Any], make: Callable[[], Made]) -> None:
        """Call `forward` once, with new arguments, as a caller on the default stream does."""
        args, kwargs = make()
        inputs = self._adopt_inputs(forward, args, kwargs)
        self._name, self._span = _named(forward), self._place(forward)
        self.device.begin_call()
        self.log.begin()
        graph = self.target == NPUGRAPH_EX
        self._boundary(StepKind.ENTRY if graph else StepKind.LAUNCH, writes=inputs)
        try:
            result = forward(*args, **kwargs)
            self.device.end_call()
            outputs = self._storages(result)
            self._outputs.update(n for n in outputs if not self.recorder.memory.blocks[n].captured)
            views = accesses(self.recorder.memory, [tensor for _, tensor in _reached({"": result})], [])
            leaving = self._boundary(StepKind.EXIT if graph else StepKind.LAUNCH, reads=outputs)
            leaving.views = views
            if self.log.call in self.device.left and graph:
                leaving.words.append(via.SET_STREAM)
                leaving.source = self.device.left[self.log.call]
            if graph:
                leaving.words += self._views(result, (args, kwargs))
                self._boundary(StepKind.LAUNCH, reads=outputs).views = views
            del result, args, kwargs
        finally:
            self.log.stop()

    def run(self, work: Callable[[], object], name: str, span: Span) -> None:
        """Record what `work` does: nobody gives it inputs, and nobody reads what it made."""
        self._name, self._span = name, span
        self.device.begin_call()
        self.log.begin()
        try:
            work()
        finally:
            self.log.stop()

    def program(self) -> Program:
        """The program of all calls so far."""
        return program_of(self.device, self.recorder.memory.blocks, self.target, self._name, self._span, self._outputs)

    def _adopt_inputs(self, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[int]:
        function = forward.forward if isinstance(forward, torch.nn.Module) else forward
        given = dict(inspect.signature(function).bind(*args, **kwargs).arguments)
        found = (self.recorder.adopt(t, n, StorageKind.INPUT) for n, t in _reached(given) if _is_new(self.recorder, t))
        return [number for number in found if number is not None]

    def _storages(self, result: Any) -> list[int]:
        numbers = (self.recorder.memory.number(tensor) for _, tensor in _reached({"": result}))
        return list(dict.fromkeys(number for number in numbers if number is not None))

    def _views(self, result: Any, given: Made) -> list[str]:
        """The words for the inputs of which views are returned; not for those that are returned as they are, nor for
        those that forward() writes, which a graph works on as copies."""
        memory = self.recorder.memory
        inputs = {id(tensor) for _, tensor in _reached({"": given})}
        written = {n for e in self.log.entries if e.kind is StepKind.LAUNCH and e.source for n in e.writes}
        views = {memory.number(tensor) for _, tensor in _reached({"": result}) if id(tensor) not in inputs} - written
        found = [memory.blocks[number] for number in views if number is not None]
        return sorted({via.view_of(block.name) for block in found if block.kind is StorageKind.INPUT})

    def _boundary(self, kind: StepKind, reads: Iterable[int] = (), writes: Iterable[int] = ()) -> Entry:
        """A step of the caller's, which has no place in the user's forward()."""
        return self.log.add(Entry(kind, DEFAULT, "the caller", tuple(reads), tuple(writes)))

    def _place(self, forward: Callable[..., Any]) -> Span:
        """The first line of a function."""
        function = inspect.unwrap(getattr(forward, "__func__", forward))
        if isinstance(forward, torch.nn.Module):
            function = getattr(forward.forward, "__func__", forward.forward)
        code = getattr(function, "__code__", None)
        if code is None:
            return self._span
        from streamsched.dsl.trace.tracing.failures import Place, span_of

        return span_of(Place(code, 0), self.device.places.base, self.device.places.sources).start


def arguments(recording: Recording, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Made:
    """New arguments for one call: copies of the tensors among those that are given, and other objects as they are."""

    def copied(value: Any) -> Any:
        return value.clone() if isinstance(value, torch.Tensor) and not recording.recorder.is_on_host(value) else value

    made: Made = torch.utils._pytree.tree_map(copied, (args, kwargs))
    return made


def _named(forward: Callable[..., Any]) -> str:
    return type(forward).__name__ if isinstance(forward, torch.nn.Module) else getattr(forward, "__name__", "forward")


def _is_new(recorder: Recorder, tensor: torch.Tensor) -> bool:
    """Whether a tensor among the arguments is the call's own, and neither the model's nor the host's."""
    block = recorder.memory.block(tensor)
    return block is None or (block.kind is StorageKind.OP and not block.on_host)


def _reached(given: dict[str, Any]) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors in a tree of arguments, by the expressions that reach them."""
    for name, value in given.items():
        if isinstance(value, torch.Tensor):
            yield name, plain(value)
        elif isinstance(value, dict):
            yield from _reached({f"{name}[{key!r}]": item for key, item in value.items()})
        elif isinstance(value, list | tuple):
            yield from _reached({f"{name}[{index}]": item for index, item in enumerate(value)})
        elif hasattr(value, "__dict__") and not isinstance(value, type | torch.nn.Module) and not callable(value):
            yield from _reached({f"{name}.{key}": item for key, item in vars(value).items()})
