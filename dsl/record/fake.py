"""Runs without values: tensors of any size lie on the meta device, and nobody can look at what is in them."""

from __future__ import annotations

from typing import Any

import torch

from streamsched.dsl.saying import said
from streamsched.dsl.trace.tracing.assembly import effects

_NO_VALUES = ("meta tensor", "Meta tensors", "no data", "data-independent")
_NO_FAKE = ("no fake impl or Meta kernel registered", "no fake impl registered")
_SPELLED = {"is_nonzero": "bool", "_local_scalar_dense": "item", "_unique2": "unique"}
"""What people call the operators that read values."""


class NeedsValuesError(RuntimeError):
    """The code looks at the values of a tensor that has none. `what` names the call."""

    def __init__(self, what: str) -> None:
        super().__init__(f"`{what}` needs the values of a tensor, and a run with --fake has none")
        self.what = what


class NeedsFakeError(RuntimeError):
    """An operator cannot be run without values, as nobody has said what shape its result has."""

    def __init__(self, operator: str) -> None:
        super().__init__(f"`{operator}` has no fake implementation, which a run with --fake needs")
        self.operator = operator


class Refusals:
    """What a run without values could not do: user code may catch the exceptions and go on with something else."""

    def __init__(self) -> None:
        self.errors: list[NeedsValuesError | NeedsFakeError] = []

    def needs_values(self, what: str) -> NeedsValuesError:
        """The exception for a call that looks at values."""
        error = NeedsValuesError(what)
        self.errors.append(error)
        return error

    def of(self, func: Any, error: Exception) -> NeedsValuesError | NeedsFakeError | None:
        """What an operator raised for want of values, in our words; None where it is another fault."""
        told = None if isinstance(error, NeedsValuesError | NeedsFakeError) else self._told(func, said(error))
        if told is not None:
            self.errors.append(told)
        return told

    def _told(self, func: Any, message: str) -> NeedsValuesError | NeedsFakeError | None:
        name = effects.base_name(func)
        short = name.rpartition("::")[2]
        if any(words in message for words in _NO_FAKE):
            own = func.namespace == "aten"
            return NeedsValuesError(_SPELLED.get(short, short)) if own else NeedsFakeError(name)
        if any(words in message for words in _NO_VALUES):
            return NeedsValuesError(_SPELLED.get(short, short))
        return None


def to_meta(model: torch.nn.Module) -> None:
    """Put the parameters and buffers of a model on the meta device, in place; a tied one stays tied."""
    moved: dict[int, torch.Tensor] = {}
    for module in model.modules():
        for held in (module._parameters, module._buffers):
            for name, tensor in held.items():
                if tensor is not None and not tensor.is_meta:
                    held[name] = moved.setdefault(id(tensor), _on_meta(tensor))  # type: ignore[assignment]


def _on_meta(tensor: torch.Tensor) -> torch.Tensor:
    empty = torch.empty_like(tensor, device="meta")
    return torch.nn.Parameter(empty, tensor.requires_grad) if isinstance(tensor, torch.nn.Parameter) else empty
