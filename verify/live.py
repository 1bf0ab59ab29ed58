"""The original model with values, and calls of it with values."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.utils._pytree as pytree

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.trace.model import NamedDim
from streamsched.dsl.trace.request import TraceRequest
from streamsched.dsl.trace.sources import Sources
from streamsched.dsl.trace.tracing.collectives import copy_model
from streamsched.dsl.trace.tracing.dims.symbols import Dims
from streamsched.dsl.trace.tracing.example_inputs import Inputs, by_position, load_inputs
from streamsched.dsl.trace.tracing.frames import Internals
from streamsched.dsl.trace.tracing.isolation import imports_npu, user_code
from streamsched.dsl.trace.tracing.loader import Session, load_model
from streamsched.dsl.trace.tracing.run import register_caches
from streamsched.dsl.trace.tracing.streams import standing_in
from streamsched.dsl.trace.tracing.world import ranks
from streamsched.verify.bounds import index_bounds
from streamsched.verify.request import Request
from streamsched.verify.samples import Input, Sample, bounded, fill_parameters, sample_inputs
from streamsched.verify.sizes import sample_sizes
from streamsched.verify.verdict import CannotRunError


@dataclass(frozen=True, slots=True)
class Live:
    """The original on the CPU. `example` makes a call for it, under a device, whose tensors are `inputs`."""

    model: torch.nn.Module
    example: Callable[[str], Inputs]
    inputs: tuple[Input, ...]

    @property
    def integers(self) -> tuple[str, ...]:
        """The names of the inputs that may index."""
        return tuple(entry.name for entry in self.inputs if entry.is_integer)

    def sizes(self, dims: Iterable[NamedDim], seed: int) -> dict[str, int]:
        """Random sizes of the dynamic dims, within the bounds that `dims` have."""
        named = dict.fromkeys(dim for entry in self.inputs for dim in entry.dims if isinstance(dim, str))
        return sample_sizes(named, dims, seed)

    def sample(self, seed: int, sizes: Mapping[str, int] | None = None) -> Sample:
        """Random values for a call, in which the dynamic dims have these sizes."""
        return sample_inputs(self.inputs, seed, sizes or {})

    def call(self, sample: Sample, device: str = "cpu") -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a call with fresh copies of the tensors of `sample`, and objects of its own, on `device`."""
        return self._call([tensor.clone().to(device) for tensor in sample], device)

    def _call(self, tensors: list[torch.Tensor], device: str = "cpu") -> tuple[tuple[Any, ...], dict[str, Any]]:
        made, given = self.example(device), iter(tensors)
        leaves, spec = pytree.tree_flatten((made.args, made.kwargs))
        filled = [next(given) if isinstance(leaf, torch.Tensor) else copy.copy(leaf) for leaf in leaves]
        args, kwargs = pytree.tree_unflatten(filled, spec)
        return args, kwargs

    def bounded(self, request: Request) -> Live:
        """With bounds for integer inputs: the request's, else the size of what they index.

        What indexes nothing keeps the values that the user's function gives: positions, lengths. Raises
        `CannotRunError`.
        """
        inputs = bounded(self.inputs, request.ranges)
        named = {given.name for given in request.ranges}
        open_ended = [index for index, entry in enumerate(inputs) if entry.is_integer and entry.name not in named]
        if not open_ended:
            return dataclasses.replace(self, inputs=inputs)
        zeros = [torch.zeros(entry.shape, dtype=entry.dtype) for entry in inputs]
        model, (args, kwargs) = copy_model(self.model), self._call(zeros)
        sizes = index_bounds(lambda: model(*args, **kwargs), zeros)
        found = list(inputs)
        for index in open_ended:
            size = sizes[index]
            if size:
                high = min(size - 1, torch.iinfo(inputs[index].dtype).max)
                found[index] = dataclasses.replace(inputs[index], high=high, given=None)
        return dataclasses.replace(self, inputs=tuple(found))


@dataclass(frozen=True, slots=True)
class State:
    """What a module's parameters and buffers held, those too that its state_dict leaves out."""

    kept: tuple[tuple[torch.Tensor, torch.Tensor], ...]  # (the tensor, a copy)

    @classmethod
    def of(cls, module: torch.nn.Module) -> State:
        """The state of `module` now."""
        tensors = [*module.parameters(), *module.buffers()]
        return cls(tuple((tensor, tensor.detach().clone()) for tensor in tensors))

    def restore(self) -> None:
        """Put it back, in place."""
        with torch.no_grad():
            for tensor, copied in self.kept:
                tensor.copy_(copied)


@contextlib.contextmanager
def live(wanted: TraceRequest, request: Request) -> Iterator[Live | Diagnostic]:
    """The model of `wanted` on the CPU, its parameters filled at random; or why there is none.

    The user's folder can be imported from while the block lasts, since forward() may import, too. On the CPU streams of
    the model's own do nothing. Raises
    `CannotRunError` for a range that fits no input.
    """
    sources = Sources(wanted.base)
    session = Session(wanted, sources, Internals(str(Path(torch.__file__).parent)), request.verbose)
    with (
        user_code(wanted.base, sources, imports_npu(Path(wanted.base, wanted.file)), bool(wanted.fakes)),
        ranks(wanted.world),
        standing_in(session.streams) if request.engine == "cpu" else contextlib.nullcontext(),
    ):
        model = load_model(session, "cpu")
        if isinstance(model, Diagnostic):
            yield model
            return
        register_caches(model)
        inputs = load_inputs(session, model, device="cpu")
        if isinstance(inputs, Diagnostic):
            yield inputs
            return
        fill_parameters(model, request.seed)
        example = functools.partial(_example, session, model)
        with _marked():
            entries = [*_inputs(model, example("cpu"))]
        dims = Dims.of(wanted.inputs)
        named = tuple(dataclasses.replace(entry, dims=dims.named(entry.shape)) for entry in entries)
        yield Live(model, example, named).bounded(request)


def _example(session: Session, model: torch.nn.Module, device: str) -> Inputs:
    """The user's example call, made anew."""
    made = load_inputs(session, model, device=device)
    if isinstance(made, Diagnostic):
        raise CannotRunError(f"cannot run: {made.message}", "\n".join(made.notes))
    return by_position(model, made)


@contextlib.contextmanager
def _marked() -> Iterator[None]:
    """Integers that nothing initialises are the largest that there are, so that they can be told."""
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)


def _inputs(model: torch.nn.Module, call: Inputs) -> Iterator[Input]:
    """The tensors in the arguments of a call, named as the user reaches them: `ids`, `mask[0]`, `state['k']`.

    Raises `CannotRunError` for one without data.
    """
    names = [*_positional(model, len(call.args)), *call.kwargs]
    for tree, name in zip((*call.args, *call.kwargs.values()), names, strict=True):
        for path, leaf in pytree.tree_flatten_with_path(tree)[0]:
            if isinstance(leaf, torch.Tensor):
                if leaf.is_meta:
                    raise CannotRunError(_without_data(name + pytree.keystr(path)))
                entry = Input(name + pytree.keystr(path), leaf.dtype, tuple(leaf.shape))
                yield dataclasses.replace(entry, given=leaf) if entry.is_integer and _is_initialised(leaf) else entry


def _without_data(name: str) -> str:
    return (
        f"cannot run: input `{name}` is made on the meta device, which holds no data; name no device in the function "
        "of `inputs from`, or torch.get_default_device() where one must be given"
    )


def _is_initialised(tensor: torch.Tensor) -> bool:
    return not bool((tensor.to(torch.int64) == torch.iinfo(tensor.dtype).max).any())


def _positional(model: torch.nn.Module, count: int) -> list[str]:
    """What the first `count` positional arguments of forward() are called."""
    parameters = inspect.signature(model.forward).parameters.values()
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][:count]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "")
    return [*names, *(f"{rest}[{index}]" for index in range(count - len(names)))]
