"""The objects that forward() is called with: a cache is passed on by its name, and must come back as it was."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch

from streamsched.dsl.trace.tracing.accessors import nested_tensors

_PLAIN = (torch.Tensor, list, tuple, dict, str, bytes, int, float, complex, type(None))


class InputObjects:
    """The positional arguments of the scope's forward()."""

    def __init__(self) -> None:
        self._given: dict[str, Any] = {}
        self._names: dict[int, str] = {}
        self._before: dict[str, torch.Tensor] = {}

    def enter(self, forward: Callable[..., Any], args: tuple[Any, ...]) -> None:
        """Note the arguments of a call of `forward`."""
        self._given = dict(inspect.signature(forward).bind_partial(*args).arguments)
        self._names = {id(value): name for name, value in self._given.items() if not isinstance(value, _PLAIN)}
        self._before = dict(self._tensors())

    def name(self, value: object) -> str | None:
        """The parameter whose argument an object is, where the object is neither tensor nor plain data."""
        return self._names.get(id(value))

    def rebound(self) -> tuple[str, ...]:
        """The places in the arguments where there is another tensor than at entry."""
        now = dict(self._tensors())
        places = dict.fromkeys((*self._before, *now))
        return tuple(place for place in places if self._before.get(place) is not now.get(place))

    def _tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        for name, value in self._given.items():
            yield from nested_tensors(name, value)
