"""Declaring what torch never sees: kernels that Python launches by itself."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch.overrides import _get_current_function_mode_stack

from streamsched.dsl.record.device_mode import DeviceMode
from streamsched.dsl.record.recorder import Recorder

F = TypeVar("F", bound=Callable[..., Any])


def kernel(*, reads: tuple[str, ...] = (), writes: tuple[str, ...] = ()) -> Callable[[F], F]:
    """Declare a function that launches one kernel on the current stream.

    `reads` and `writes` name the parameters whose tensors the kernel touches. While code is audited the function is not
    called, and the kernel is noted in its place; otherwise it is called as it is. Raises `TypeError` for a name that is
    no parameter.
    """

    def declare(launch: F) -> F:
        signature = inspect.signature(launch)
        unknown = [name for name in (*reads, *writes) if name not in signature.parameters]
        if unknown:
            raise TypeError(f"{launch.__name__}() has no parameter {unknown[0]!r}")

        @functools.wraps(launch)
        def launched(*args: Any, **kwargs: Any) -> Any:
            recorder = _recorder()
            if recorder is None:
                return launch(*args, **kwargs)
            given = signature.bind(*args, **kwargs).arguments
            recorder.declared(launch.__name__, _tensors(given, reads), _tensors(given, writes))
            return None

        return launched  # type: ignore[return-value]

    return declare


def _recorder() -> Recorder | None:
    """The recorder of the virtual device that is in place, if one is."""
    modes = _get_current_function_mode_stack()  # type: ignore[no-untyped-call]
    return next((mode.recorder for mode in reversed(modes) if isinstance(mode, DeviceMode)), None)


def _tensors(given: dict[str, Any], names: tuple[str, ...]) -> list[torch.Tensor]:
    return [given[name] for name in names if isinstance(given.get(name), torch.Tensor)]
