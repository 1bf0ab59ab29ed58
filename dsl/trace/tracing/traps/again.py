"""A second run of a model, without being exported, to compare its calls into torch with those of another run."""

from __future__ import annotations

import contextlib
import copy
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from streamsched.dsl.trace.tracing.example_inputs import Inputs
from streamsched.dsl.trace.tracing.failures import cause
from streamsched.dsl.trace.tracing.loader import Session
from streamsched.dsl.trace.tracing.provenance.issues import issued_name
from streamsched.dsl.trace.tracing.provenance.recorder import Recorder
from streamsched.dsl.trace.tracing.state.attributes import unchanged
from streamsched.dsl.trace.tracing.traps.compiling import answered

Call = tuple[str, tuple[str, ...]]
"""The name of what is called, and the constants that it is given."""


@dataclass(frozen=True, slots=True)
class Again:
    """The calls into torch, and the constants in the result. `raised` tells that it ended with an exception; with
    `leaf`, it was in a leaf, which need not run outside of a trace."""

    calls: tuple[Call, ...]
    result: tuple[str, ...] = ()
    raised: str = ""
    leaf: bool = False


def run_again(
    session: Session, model: torch.nn.Module, inputs: Inputs, recorder: Recorder, *, compiling: bool
) -> Again:
    """Run the model as it is on the meta device, told `compiling` when it asks; it is unchanged afterwards."""
    calls = _Calls()
    with unchanged(model), warnings.catch_warnings(action="ignore"):
        args, kwargs = copy.deepcopy((inputs.args, inputs.kwargs))
        answer = answered(session.internals, compiling, lambda _: None)
        try:
            with torch.no_grad(), answer, calls, recorder.leaves.outside(model, calls.paused):
                result = model(*args, **kwargs)
        except Exception as error:
            return Again(tuple(calls.calls), (), "" if calls.leaf else cause(error), calls.leaf)
    return Again(tuple(calls.calls), _constants(result))


def _constants(tree: Any) -> tuple[str, ...]:
    return tuple(repr(leaf) for leaf in pytree.tree_leaves(tree) if isinstance(leaf, int | float | str | slice))


class _Calls(TorchFunctionMode):
    """The calls into torch."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []
        self.leaf = False  # whether a leaf is running, or raised

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Note nothing while a leaf runs, which is one op of a trace."""
        outer, self.leaf = self.leaf, True
        yield
        self.leaf = outer

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = issued_name(func)
        if name is not None and not self.leaf:
            self.calls.append((name, _constants((args, kwargs))))
        return func(*args, **(kwargs or {}))
