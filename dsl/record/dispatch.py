"""Sees every operator that torch runs, at the level at which models are traced."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from streamsched.dsl.record import collectives
from streamsched.dsl.record.recorder import Recorder


class _Launching(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Tells the recorder of each operator when it has run."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._recorder = recorder
        self._in_place_of = collectives.without_values()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        try:
            result = (self._in_place_of.get(func, func) if self._recorder.fake else func)(*args, **kwargs)
        except (RuntimeError, NotImplementedError, TypeError) as error:
            told = self._recorder.refusals.of(func, error) if self._recorder.fake else None
            if told is None:
                raise
            raise told from error
        self._recorder.ran(func, args, kwargs, result)
        return result


@contextlib.contextmanager
def launches(recorder: Recorder) -> Iterator[None]:
    """Have the recorder told of every operator while the context lasts.

    Below autograd composite operators (`linear`, `scaled_dot_product_attention`) arrive whole.
    """
    with torch.no_grad(), torch._C._AutoDispatchBelowAutograd(), _Launching(recorder):
        yield
