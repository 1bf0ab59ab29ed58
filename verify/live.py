"""The original model with values, and calls of it with values."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.utils._pytree as pytree

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.trace.model import Trace
from streamsched.dsl.trace.request import TraceRequest
from streamsched.dsl.trace.sources import Sources
from streamsched.dsl.trace.tracing.example_inputs import by_position, load_inputs
from streamsched.dsl.trace.tracing.frames import Internals
from streamsched.dsl.trace.tracing.isolation import imports_npu, user_code
from streamsched.dsl.trace.tracing.loader import Session, load_model
from streamsched.verify.samples import fill_parameters

Sample = dict[int, torch.Tensor]
"""What the inputs of one call hold, by value of the trace."""


@dataclass(frozen=True, slots=True)
class Live:
    """The original on the CPU. `args` and `kwargs` are an example call whose tensors hold nothing yet."""

    model: torch.nn.Module
    trace: Trace
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def call(self, sample: Sample, device: str = "cpu") -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a call with fresh copies of the tensors of `sample`, on `device`."""
        given = iter(self.trace.inputs)
        leaves, spec = pytree.tree_flatten((self.args, self.kwargs))
        filled = [sample[next(given)].clone().to(device) if isinstance(x, torch.Tensor) else x for x in leaves]
        args, kwargs = pytree.tree_unflatten([copy.copy(x) for x in filled], spec)
        return args, kwargs


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
def live(request: TraceRequest, trace: Trace, seed: int) -> Iterator[Live | Diagnostic]:
    """The model of `request` on the CPU, its parameters filled at random; or why there is none.

    The user's folder can be imported from while the block lasts, since forward() may import, too.
    """
    sources = Sources(request.base)
    session = Session(request, sources, Internals(str(Path(torch.__file__).parent)), verbose=False)
    with user_code(request.base, sources, imports_npu(Path(request.base, request.file))):
        model = load_model(session, "cpu")
        if isinstance(model, Diagnostic):
            yield model
            return
        inputs = load_inputs(session, model)
        if isinstance(inputs, Diagnostic):
            yield inputs
            return
        inputs = by_position(model, inputs)
        fill_parameters(model, seed)
        yield Live(model, trace, inputs.args, inputs.kwargs)
