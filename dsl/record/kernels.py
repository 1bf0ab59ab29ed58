"""Declaring what torch never sees: kernels that Python launches by itself, and packages that are not installed.

Declarations stand in the code itself, or in the file that `streamsched audit --fakes FILE` imports first.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from streamsched.dsl.record.recorder import Recorder

F = TypeVar("F", bound=Callable[..., Any])


def kernel(*, reads: tuple[str, ...] = (), writes: tuple[str, ...] = ()) -> Callable[[F], F]:
    """Declare a function that launches one kernel on the current stream, or what is launched as `k[grid](...)`.

    `reads` and `writes` name the parameters whose tensors the kernel touches. While code is audited nothing is
    called, and the kernel is noted in its place; otherwise the function is called as it is. Raises `TypeError` for a
    name that is no parameter.
    """

    def declare(launch: F) -> F:
        function = plain_function(launch)
        _check(function, reads, writes)
        if hasattr(launch, "__getitem__"):
            return _DeclaredKernel(launch, function, reads, writes)  # type: ignore[return-value]

        @functools.wraps(launch)
        def launched(*args: Any, **kwargs: Any) -> Any:
            recorder = recorder_in_place()
            if recorder is None:
                return launch(*args, **kwargs)
            given = inspect.signature(launch).bind(*args, **kwargs).arguments
            recorder.declared(function.__name__, tensors_named(given, reads), tensors_named(given, writes))
            return None

        return launched  # type: ignore[return-value]

    return declare


def declare(name: str, *, reads: tuple[str, ...] = (), writes: tuple[str, ...] = ()) -> None:
    """Declare a Triton kernel of code that is not to be changed, by its function's name or `module.function`.

    It holds for the audit that imports the file in which it stands; elsewhere nothing happens.
    """
    recorder = recorder_in_place()
    if recorder is not None:
        recorder.launches.declare(name, reads, writes)


def missing_module(name: str, **offers: Any) -> None:
    """Let `import name` find a module with what it `offers`, for the audit that imports the file in which it stands.

    Of anything else that is asked of the module, a call is a finding (`not-seen`): nothing is known of it.
    """
    recorder = recorder_in_place()
    if recorder is None:
        return
    parent, _, own = name.rpartition(".")
    if parent and parent not in sys.modules and importlib.util.find_spec(parent.partition(".")[0]) is None:
        missing_module(parent)
    module = _MissingModule(name, offers, recorder, sys.modules.get(name))
    sys.modules[name] = module
    if parent in sys.modules:
        setattr(sys.modules[parent], own, module)


class _DeclaredKernel:
    """A kernel that is launched as `k[grid](...)`, with what it touches."""

    def __init__(self, launch: Any, function: Callable[..., Any], reads: tuple[str, ...], writes: tuple[str, ...]):
        self.fn = function
        self._launch, self._reads, self._writes = launch, reads, writes

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        def launched(*args: Any, **kwargs: Any) -> Any:
            recorder = recorder_in_place()
            if recorder is None:
                return self._launch[grid](*args, **kwargs)
            given = arguments(self.fn, args, kwargs)
            name = self.fn.__name__
            recorder.declared(name, tensors_named(given, self._reads), tensors_named(given, self._writes))
            return None

        return launched

    def __getattr__(self, name: str) -> Any:
        return getattr(self._launch, name)


class _MissingModule(ModuleType):
    """A package that is not installed. `before` is what had its name."""

    def __init__(self, name: str, offers: Mapping[str, Any], recorder: Recorder, before: ModuleType | None) -> None:
        super().__init__(name)
        self.__spec__ = ModuleSpec(name, None, is_package=True)
        self.__path__: list[str] = []
        vars(self).update(offers)
        vars(self)["_recorder"] = recorder
        vars(self)["_before"] = before

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__} has no attribute {name}")

        def undeclared(*args: Any, **kwargs: Any) -> None:
            vars(self)["_recorder"].launches.not_seen(f"{self.__name__}.{name}")

        return undeclared


def forget_modules() -> None:
    """Take the modules away again that `missing_module` has made."""
    for name, module in list(sys.modules.items()):
        if isinstance(module, _MissingModule):
            before = vars(module)["_before"]
            if before is None:
                del sys.modules[name]
            else:
                sys.modules[name] = before


def recorder_in_place() -> Recorder | None:
    """The recorder of the virtual device that is in place, if one is."""
    device_mode = sys.modules.get("streamsched.dsl.record.device_mode")
    return None if device_mode is None else device_mode.in_place()


def plain_function(launch: Any) -> Callable[..., Any]:
    """The Python function under the decorators that make a kernel of it."""
    while not inspect.isfunction(launch) and hasattr(launch, "fn"):
        launch = launch.fn
    function: Callable[..., Any] = inspect.unwrap(launch)
    return function


def arguments(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a launch by name; what the kernel has no parameter for, like `num_warps`, is left out."""
    signature = inspect.signature(function)
    known = {name: value for name, value in kwargs.items() if name in signature.parameters}
    return dict(signature.bind_partial(*args, **known).arguments)


def tensors_named(given: Mapping[str, Any], names: tuple[str, ...]) -> list[Any]:
    """The tensors among the arguments of these names, in lists too."""
    return [tensor for name in names for tensor in _tensors(given.get(name))]


def _tensors(value: Any) -> Iterator[Any]:
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _tensors(item)


def _check(function: Callable[..., Any], reads: tuple[str, ...], writes: tuple[str, ...]) -> None:
    parameters = inspect.signature(function).parameters
    for names in (reads, writes):
        if isinstance(names, str):
            raise TypeError(f'reads and writes are tuples of names: ("{names}",)')
    unknown = [name for name in (*reads, *writes) if name not in parameters]
    if unknown:
        raise TypeError(f"{function.__name__}() has no parameter {unknown[0]!r}: it has {', '.join(parameters)}")
