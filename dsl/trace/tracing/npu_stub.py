"""A `torch_npu` that consists of the ops that the user has registered fake implementations for."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import torch

NAME = "torch_npu"


class NoFakeError(AttributeError):
    """The op `npu::name` is not registered."""

    def __init__(self, name: str) -> None:
        super().__init__(f"torch_npu.{name} has no fake implementation in the file that `fakes` names")
        self.name = name


def npu_runs() -> bool:
    """Whether the real torch_npu runs in this process."""
    module = sys.modules.get(NAME)
    return module is not None and not isinstance(module, Stub)


@contextlib.contextmanager
def standing_in() -> Iterator[None]:
    """Have `import torch_npu` give the stub while the context lasts."""
    hidden = NAME in sys.modules
    before = sys.modules.get(NAME)
    sys.modules[NAME] = Stub()
    try:
        yield
    finally:
        del sys.modules[NAME]
        if hidden:
            sys.modules[NAME] = before  # type: ignore[assignment]  # None marks a module that is not there


class Stub(ModuleType):
    """`torch_npu.npu_xyz` is the op `npu::npu_xyz`."""

    def __init__(self) -> None:
        super().__init__(NAME)
        self.__spec__ = ModuleSpec(NAME, None)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return getattr(torch.ops.npu, name)
        except AttributeError:
            raise NoFakeError(name) from None
