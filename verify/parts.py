"""The modules that a plan is for, with the arguments that calls of the model give them."""

from __future__ import annotations

import contextlib
import copy
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from streamsched.dsl.trace.model import Trace
from streamsched.dsl.trace.tracing.collectives import copy_model
from streamsched.verify.environment import Environment
from streamsched.verify.instances import sampled
from streamsched.verify.live import Live
from streamsched.verify.samples import Sample
from streamsched.verify.unsupported import original_raises
from streamsched.verify.verdict import CannotRunError


@dataclass(frozen=True, slots=True)
class Part:
    """A module, and what each call of it gets and returns; no results where the module is the whole model.

    `inputs` are by value of the trace, `arguments` by parameter of forward(). `path` is empty for the whole model.
    """

    path: str
    module: torch.nn.Module
    inputs: list[Environment] = field(default_factory=list)
    arguments: list[dict[str, Any]] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)

    @property
    def label(self) -> str:
        """What reports add to an order's name."""
        return f" in {self.path}" if self.path else ""


def parts_of(trace: Trace, live: Live, samples: Sequence[Sample]) -> list[Part]:
    """The modules that `trace` stands for, in calls of the model with `samples`.

    A module in scope is a copy's, as it was before the first call. Raises `CannotRunError`.
    """
    if trace.scope is None:
        whole = Part("", live.model)
        for sample in samples:
            args, kwargs = live.call(sample)
            whole.inputs.append(dict(zip(trace.inputs, sample, strict=True)))
            whole.arguments.append(_named(live.model, args, kwargs))
        return [whole]
    model, running = copy_model(live.model), copy_model(live.model)
    parts = [Part(path, model.get_submodule(path)) for path in sampled(trace, live.model)]
    with contextlib.ExitStack() as hooks, torch.no_grad():
        for part in parts:
            hooks.enter_context(_noting(trace, part, running.get_submodule(part.path)))
        for call, sample in enumerate(samples):
            args, kwargs = live.call(sample)
            torch.manual_seed(call)
            try:
                running(*args, **kwargs)
            except CannotRunError:
                raise
            except Exception as error:
                raise original_raises(error, live.integers) from error
    return parts


@contextlib.contextmanager
def _noting(trace: Trace, part: Part, module: torch.nn.Module) -> Iterator[None]:
    """Note what calls of `module` get and return while the block lasts."""

    def before(_: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        arguments = copy.deepcopy(_named(module, args, kwargs))
        names = {"torch": torch, "self": module, **arguments}
        part.arguments.append(arguments)
        part.inputs.append({value: _given(trace.values[value].expression, names, part) for value in trace.inputs})

    def after(_: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        part.results.append(copy.deepcopy(result))

    handles = [
        module.register_forward_pre_hook(before, with_kwargs=True),
        module.register_forward_hook(after, with_kwargs=True),
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _given(expression: str, names: dict[str, Any], part: Part) -> torch.Tensor:
    """What an input of the trace holds in this call."""
    try:
        found = eval(expression, names)  # the tracer's own
    except Exception as error:
        raise CannotRunError(
            f"cannot run: `{part.path}` is called without `{expression}`, which it was traced with"
        ) from error
    if not isinstance(found, torch.Tensor):
        message = (
            f"cannot run: `{part.path}` is called with {found!r} for `{expression}`, which was a tensor in the trace"
        )
        raise CannotRunError(message)
    return found.clone()


def _named(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by the names that forward() has for them."""
    bound = inspect.signature(module.forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return dict(bound.arguments)
