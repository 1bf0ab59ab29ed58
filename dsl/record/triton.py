"""Triton under audit: kernels are defined as they are, and launched as the recorder notes it.

Where the package is not installed, a stand-in takes its place that knows no more than how kernels are defined.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import FrameType, ModuleType
from typing import Any

import torch
import torch.utils._triton

from streamsched.dsl.record.recorder import Recorder

_NAME = "triton"
_TORCH = os.path.dirname(torch.__file__) + os.sep


@contextlib.contextmanager
def launches_of_triton(recorder: Recorder) -> Iterator[None]:
    """Note what `kernel[grid](...)` launches while the context lasts."""
    if importlib.util.find_spec(_NAME) is None:
        finder = _Finder(recorder)
        sys.meta_path.append(finder)
        try:
            yield
        finally:
            sys.meta_path.remove(finder)
            for name in [name for name in sys.modules if name == _NAME or name.startswith(f"{_NAME}.")]:
                del sys.modules[name]
        return
    interface = importlib.import_module(f"{_NAME}.runtime.jit").KernelInterface
    before = interface.__getitem__
    interface.__getitem__ = lambda kernel, grid: _launcher(recorder, kernel)
    try:
        yield
    finally:
        interface.__getitem__ = before


def _launcher(recorder: Recorder, kernel: Any) -> Callable[..., None]:
    def launched(*args: Any, **kwargs: Any) -> None:
        recorder.launches.launched(kernel, args, kwargs)

    return launched


class _Finder(MetaPathFinder, Loader):
    """Has `import triton` find the stand-in; but not torch, which remembers for good whether there is Triton."""

    def __init__(self, recorder: Recorder) -> None:
        self._modules = _modules(recorder)

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Where a part of Triton is to be had; torch is asked first whether it has any, and does not see this."""
        if name not in self._modules or _asked_by_torch():
            return None
        importlib.import_module("torch._inductor.runtime.triton_compat")
        torch.utils._triton.has_triton_package()
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The part itself."""
        return self._modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to be done."""


def _asked_by_torch() -> bool:
    """Whether the innermost frame that is not of the import system is torch's."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and ("importlib" in frame.f_code.co_filename):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(_TORCH)


def _modules(recorder: Recorder) -> dict[str, ModuleType]:
    """The packages that code which defines kernels imports."""

    def jit(function: Any = None, **_: Any) -> Any:
        return _Kernel(recorder, function) if function is not None else jit

    def around(*_: Any, **__: Any) -> Callable[[Any], Any]:
        return lambda kernel: kernel

    root = _Module(_NAME)
    vars(root).update(
        jit=jit,
        autotune=around,
        heuristics=around,
        cdiv=lambda x, y: -(-x // y),
        next_power_of_2=lambda n: 1 << (n - 1).bit_length(),
        __version__="3.0.0",
    )
    language = _Module(f"{_NAME}.language")
    root.language = language  # type: ignore[attr-defined]
    extra = ("language.extra", "language.math", "runtime", "compiler", "testing")
    found: dict[str, ModuleType] = {_NAME: root, language.__name__: language}
    return found | {f"{_NAME}.{name}": _Module(f"{_NAME}.{name}") for name in extra}


class _Kernel:
    """`@triton.jit` on a function."""

    def __init__(self, recorder: Recorder, function: Callable[..., Any]) -> None:
        self.fn = function
        self.__name__, self.__module__ = function.__name__, function.__module__
        self._recorder = recorder

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        return _launcher(self._recorder, self)

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("Cannot call @triton.jit'd outside of the scope of a kernel")


class _Module(ModuleType):
    """A part of the stand-in: any name is there, and stands for itself."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__spec__ = ModuleSpec(name, None, is_package=True)
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = vars(self)[name] = _Inert(f"{self.__name__}.{name}")
        return found


class _Inert:
    """A name of the language of kernels, of which nothing is run here."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> _Inert:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Inert(f"{self._name}.{name}")

    def __call__(self, *_: Any, **__: Any) -> _Inert:
        return self

    def __getitem__(self, _: Any) -> _Inert:
        return self

    def __repr__(self) -> str:
        return self._name
