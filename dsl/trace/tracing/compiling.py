"""Noticing that the user's Python asks whether it is being compiled."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch

from streamsched.dsl.trace.tracing.frames import Internals

_QUESTIONS = ("is_compiling", "is_dynamo_compiling", "is_exporting")


@contextlib.contextmanager
def watched(internals: Internals, asked: Callable[[], None]) -> Iterator[None]:
    """Call `asked` whenever other people's code than torch's asks, while the context lasts."""
    _settle()
    originals = {name: getattr(torch.compiler, name) for name in _QUESTIONS}

    def watch(original: Any) -> Callable[[], bool]:
        def ask() -> bool:
            if sys._getframe(1).f_code.co_filename not in internals:
                asked()
            return bool(original())

        return ask

    for name, original in originals.items():
        setattr(torch.compiler, name, watch(original))
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(torch.compiler, name, original)


def _settle() -> None:
    """Let torch.compile learn the true functions now: it knows them by identity, and learns them only once."""
    from torch._dynamo.variables.torch import TorchInGraphFunctionVariable, tracing_state_functions

    tracing_state_functions()
    TorchInGraphFunctionVariable._get_handlers()
