"""Launches that torch never sees: those that are declared by name, and those of which nothing is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from streamsched.dsl.diagnostic import Span
from streamsched.dsl.record.kernels import arguments, plain_function, tensors_named

if TYPE_CHECKING:
    from streamsched.dsl.record.recorder import Recorder


@dataclass(frozen=True, slots=True)
class Unseen:
    """Something of which nothing is known. `message` says what was done."""

    message: str
    source: Span | None


class Launches:
    """What one recording knows of kernels that torch does not launch."""

    def __init__(self, recorder: Recorder) -> None:
        self.unseen: list[Unseen] = []
        self._recorder = recorder
        self._declared: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}

    def declare(self, name: str, reads: tuple[str, ...], writes: tuple[str, ...]) -> None:
        """Let the kernel of that name touch the parameters `reads` and `writes`."""
        self._declared[name] = (reads, writes)

    def launched(self, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Note `kernel[grid](*args, **kwargs)`. Raises `TypeError` where its declaration names no parameter of it."""
        function = plain_function(kernel)
        declared = self._declaration(function)
        if declared is None:
            self.not_seen(function.__name__)
            return
        given, (reads, writes) = arguments(function, args, kwargs), declared
        unknown = [name for name in (*reads, *writes) if name not in function.__code__.co_varnames]
        if unknown:
            raise TypeError(f"the declaration of {function.__name__}() names {unknown[0]!r}, which is no parameter")
        self._recorder.declared(function.__name__, tensors_named(given, reads), tensors_named(given, writes))

    def not_seen(self, name: str) -> None:
        """Note the launch of a kernel of which nothing is known but its name."""
        if self._recorder.device.log.running:
            self._recorder.launch(name, (), ())
            place = self._recorder.device.places.here()
            self.unseen.append(Unseen(f"`{name}` is launched, and what it reads and writes is not seen", place))

    def address_taken(self, storage: torch.UntypedStorage) -> None:
        """Note that the address of memory on the device goes out of sight."""
        number = self._recorder.memory.of_storage(storage)
        block = None if number is None else self._recorder.memory.blocks[number]
        if block is not None and not block.on_host and self._recorder.device.log.running:
            place = self._recorder.device.places.here()
            self.unseen.append(
                Unseen(f"the address of `{block.name}` is taken, and what happens to it is not seen", place)
            )

    def _declaration(self, function: Callable[..., Any]) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
        short = function.__name__
        return self._declared.get(f"{function.__module__}.{short}") or self._declared.get(short)
