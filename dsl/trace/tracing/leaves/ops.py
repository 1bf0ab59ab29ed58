"""Leaf modules: each call of one is a single op of the trace, whatever the module does inside.

While a model is traced, the forward() of a leaf is replaced. The replacement runs the module, or the function that
stands in for it, where the graph does not see it, and watches; then it calls an operator made for that one call, whose
schema says what was seen: which tensors are read, which are written, and how many come out.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing, get_proxy_mode, get_proxy_slot
from torch.utils._python_dispatch import TorchDispatchMode

from streamsched.dsl.trace.model import OpKind
from streamsched.dsl.trace.request import LeafRequest
from streamsched.dsl.trace.tracing import containers, failures
from streamsched.dsl.trace.tracing.assembly import effects
from streamsched.dsl.trace.tracing.assembly.effects import Effect, Operand, Placement
from streamsched.dsl.trace.tracing.assembly.storages import memory_of, same_memory

_NAMESPACE = "streamsched_leaf"
_REBINDS = "it puts another tensor into an argument, which a single op cannot do"
_TAKES = "the function takes what the module's forward() takes, and returns what that returns"


class UnsuitableLeafError(Exception):
    """A module cannot be a leaf, for the reason in the message."""

    def __init__(self, leaf: Leaf, message: str, advice: str) -> None:
        super().__init__(message)
        self.leaf = leaf
        self.advice = advice


@dataclass(frozen=True, slots=True)
class Leaf:
    """A module that is traced as one op. `shape` returns what its forward() does, where that cannot run by itself."""

    path: str
    module: torch.nn.Module
    request: LeafRequest
    shape: Callable[..., Any] | None


@dataclass(frozen=True, slots=True)
class LeafCall:
    """What one call of a leaf does besides computing. `aliases` has, for each result that the operator makes, the
    operand in whose memory it lies, None where it has its own."""

    leaf: Leaf
    random: bool
    host_sync: bool
    aliases: tuple[torch.Tensor | None, ...]

    def effect(self, given: list[Operand]) -> Effect:
        """The same in terms of the operator's operands. A result that lies in an operand's memory may also be a copy:
        nobody saw the module run on its device."""
        placements = tuple(
            Placement(tuple(i for i, operand in enumerate(given) if same_memory(operand.tensor, alias)), True, None)
            for alias in self.aliases
        )
        return Effect(OpKind.KERNEL, self.random, self.host_sync, placements)


@dataclass(slots=True)
class Leaves:
    """The leaves of the model `root`, and their calls in the latest trace by the operator that stands for each."""

    root: torch.nn.Module
    leaves: tuple[Leaf, ...]
    calls: dict[str, LeafCall] = field(default_factory=dict)
    inside: bool = False  # whether a leaf is running where the graph does not see it
    _of_module: dict[int, Leaf] = field(init=False)
    _held: frozenset[int] = field(init=False)  # the ids of the modules that are leaves or lie in one

    def __post_init__(self) -> None:
        self._of_module = {id(leaf.module): leaf for leaf in self.leaves}
        self._held = frozenset(id(module) for leaf in self.leaves for module in leaf.module.modules())

    def of(self, target: Any) -> LeafCall | None:
        """The call that an operator stands for."""
        return self.calls.get(effects.base_name(target)) if isinstance(target, torch._ops.OpOverload) else None

    def leaf(self, module: torch.nn.Module) -> Leaf | None:
        """The leaf that a module is."""
        return self._of_module.get(id(module))

    def holds(self, module: torch.nn.Module) -> bool:
        """Whether a module is a leaf or lies in one: generated code runs it as it is."""
        return id(module) in self._held

    @contextlib.contextmanager
    def replaced(self, traced: torch.nn.Module) -> Iterator[None]:
        """Have each call of a leaf inside of `traced` traced as one op while the context lasts; operators and modules
        are as before afterwards."""
        inside = {id(module) for module in traced.modules() if module is not traced}
        self.calls.clear()
        library = torch.library.Library(_NAMESPACE, "FRAGMENT")  # type: ignore[no-untyped-call]
        try:
            with contextlib.ExitStack() as stack:
                for leaf in (leaf for leaf in self.leaves if id(leaf.module) in inside):
                    stack.enter_context(_forward(leaf, self._replacement(leaf, leaf.module.forward, library)))
                yield
        finally:
            library._destroy()  # type: ignore[no-untyped-call]

    @contextlib.contextmanager
    def outside(
        self, running: torch.nn.Module, within: Callable[[], contextlib.AbstractContextManager[None]]
    ) -> Iterator[None]:
        """Have the leaves inside of `running` run under `within()`, where nothing is traced."""

        def wrapped(leaf: Leaf, forward: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(forward)
            def run(*args: Any, **kwargs: Any) -> Any:
                with within():
                    return (leaf.shape or forward)(*args, **kwargs)

            return run

        inside = {id(module) for module in running.modules() if module is not running}
        with contextlib.ExitStack() as stack:
            for leaf in (leaf for leaf in self.leaves if id(leaf.module) in inside):
                stack.enter_context(_forward(leaf, wrapped(leaf, leaf.module.forward)))
            yield

    def _replacement(
        self, leaf: Leaf, forward: Callable[..., Any], library: torch.library.Library
    ) -> Callable[..., Any]:
        @functools.wraps(forward)
        def replacement(*args: Any, **kwargs: Any) -> Any:
            if self.inside:  # the outer leaf holds this one
                return forward(*args, **kwargs)
            if get_proxy_mode() is None:
                return (leaf.shape or forward)(*args, **kwargs)
            return self._call(leaf, forward, args, kwargs, library)

        return replacement

    def _call(
        self,
        leaf: Leaf,
        forward: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        library: torch.library.Library,
    ) -> Any:
        given = containers.tensors((args, kwargs))
        operands = _distinct([*given, *leaf.module.parameters(), *leaf.module.buffers()])
        with self._apart(leaf) as watch:
            result = _run(leaf, forward, args, kwargs)
        if any(a is not b for a, b in zip(given, containers.tensors((args, kwargs)), strict=False)):
            raise UnsuitableLeafError(leaf, _REBINDS, "make a leaf of a part that leaves the object as it is")
        operands = _distinct([*operands, *watch.outside])
        written = watch.written | (_all_buffers(leaf) if leaf.shape is not None else set())
        writes = [tensor for tensor in operands if memory_of(tensor) in written]
        reads = [tensor for tensor in operands if memory_of(tensor) not in written]
        fresh = _distinct([t for t in containers.tensors(result) if not any(t is operand for operand in operands)])
        call = LeafCall(leaf, watch.random, watch.host_sync, tuple(_alias(tensor, operands) for tensor in fresh))
        made = self._operator(call, fresh, library)(reads, writes)
        new = [made] if len(fresh) == 1 else list(made or ())
        places = {id(tensor): index for index, tensor in enumerate(fresh)}
        return containers.replaced(result, lambda tensor: new[places[id(tensor)]] if id(tensor) in places else tensor)

    @contextlib.contextmanager
    def _apart(self, leaf: Leaf) -> Iterator[_Watch]:
        """Run a leaf where neither the graph nor the recorder sees it."""
        watch = _Watch()
        buffers = [(module, dict(module._buffers)) for module in leaf.module.modules()]
        tracer = get_proxy_mode().tracer  # type: ignore[union-attr]
        self.inside = True
        try:
            with disable_proxy_modes_tracing(), torch._C.DisableTorchFunction(), _no_sizes_of_data(leaf), watch:
                yield watch
        finally:
            self.inside = False
            for module, before in buffers:
                watch.written |= {
                    memory_of(tensor)
                    for name, tensor in before.items()
                    if tensor is not None and module._buffers.get(name) is not tensor
                }
                module._buffers.update(before)
        watch.outside = [t for t in watch.outside if get_proxy_slot(t, tracer, None) is not None]

    def _operator(self, call: LeafCall, fresh: list[torch.Tensor], library: torch.library.Library) -> Any:
        """An operator for one call of a leaf; node and values are named by it."""
        name = next(name for name in _numbered(_stem(call.leaf.path)) if self._is_new(name))
        returned = "Tensor" if len(fresh) == 1 else f"({', '.join(['Tensor'] * len(fresh))})"
        library.define(f"{name}(Tensor[] reads, Tensor(a!)[] writes) -> {returned}")  # type: ignore[no-untyped-call]

        def fake(reads: Any, writes: Any) -> Any:
            made = tuple(torch.empty_strided(t.size(), t.stride(), dtype=t.dtype, device=t.device) for t in fresh)
            return made[0] if len(made) == 1 else made or None

        torch.library.register_fake(f"{_NAMESPACE}::{name}", fake, lib=library)
        self.calls[f"{_NAMESPACE}::{name}"] = call
        return getattr(getattr(torch.ops, _NAMESPACE), name).default

    def _is_new(self, name: str) -> bool:
        return f"{_NAMESPACE}::{name}" not in self.calls


def _run(leaf: Leaf, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a call of a leaf returns. Where a function tells it, forward() is still watched for as far as it comes."""
    if leaf.shape is None:
        return forward(*args, **kwargs)
    with contextlib.suppress(Exception):
        forward(*args, **kwargs)
    try:
        return leaf.shape(*args, **kwargs)
    except Exception as error:
        function = ":".join(leaf.request.shape or ())
        raise UnsuitableLeafError(leaf, f'"{function}" raises {failures.cause(error)}', _TAKES) from error


def _no_sizes_of_data(leaf: Leaf) -> contextlib.AbstractContextManager[None]:
    """Let what depends on data stay inside of a leaf: torch.export must not look for it in the graph."""
    mode = torch._guards.detect_fake_mode()
    environment = None if mode is None else mode.shape_env
    return contextlib.nullcontext() if environment is None else environment.ignore_fresh_unbacked_symbols()


class _Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """What a leaf does while it runs: the memory that it writes, the tensors from elsewhere that it reads."""

    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.written: set[Any] = set()
        self.outside: list[torch.Tensor] = []
        self.random = False
        self.host_sync = False
        self._own: set[Any] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not isinstance(func, torch._ops.OpOverload):
            return func(*args, **kwargs)
        values = effects.argument_values(func, args, kwargs)
        self.random |= effects.is_random(func, values)
        self.host_sync |= effects.depends_on_data(func)
        writes = effects.written(func, args, kwargs)
        for argument, value in effects.operands(func, args, kwargs):
            for tensor in containers.tensors(value):
                if argument.name in writes:
                    self.written.add(memory_of(tensor))
                if memory_of(tensor) not in self._own:
                    self.outside.append(tensor)
        result = func(*args, **kwargs)
        self._own |= {memory_of(tensor) for tensor in containers.tensors(result)} - {memory_of(t) for t in self.outside}
        return result


@contextlib.contextmanager
def _forward(leaf: Leaf, function: Callable[..., Any]) -> Iterator[None]:
    """Let the module of a leaf have another forward() while the context lasts."""
    attributes = vars(leaf.module)
    before = {name: value for name, value in attributes.items() if name == "forward"}
    attributes["forward"] = function
    try:
        yield
    finally:
        del attributes["forward"]
        attributes.update(before)


def _distinct(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    return list({id(tensor): tensor for tensor in tensors}.values())


def _all_buffers(leaf: Leaf) -> set[Any]:
    """The memory of a leaf's buffers: what a module does that was not run is not known."""
    return {memory_of(tensor) for tensor in leaf.module.buffers()}


def _alias(tensor: torch.Tensor, operands: list[torch.Tensor]) -> torch.Tensor | None:
    return next((operand for operand in operands if memory_of(operand) == memory_of(tensor)), None)


def _stem(path: str) -> str:
    """What a module is called, as an identifier: the end of its path, from the last part on that is no number."""
    parts = path.split(".")
    first = max((index for index, part in enumerate(parts) if not part.isdigit()), default=0)
    stem = re.sub(r"\W+", "_", "_".join(parts[first:]))
    return stem if stem.isidentifier() else f"_{stem}"


def _numbered(stem: str) -> Iterator[str]:
    yield stem
    number = 0
    while True:
        number += 1
        yield f"{stem}_{number}"
