"""Regions of `torch.autocast` in a traced model: they cast nothing on the meta device, and some cannot be entered."""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import PreDispatchTorchFunctionMode

from streamsched.dsl.trace.sources import Sources
from streamsched.dsl.trace.tracing.failures import Place
from streamsched.dsl.trace.tracing.frames import Internals


@dataclass(slots=True)
class Regions:
    """Where the enabled regions that were entered are written, each once; and those that are running, outermost first,
    each with whether it is enabled."""

    enabled: list[Place] = field(default_factory=list)
    running: list[bool] = field(default_factory=list)

    @property
    def casting(self) -> bool:
        """Whether ops are cast now, as far as the device casts them."""
        return bool(self.running) and self.running[-1]


@contextlib.contextmanager
def watched(regions: Regions, internals: Internals, sources: Sources) -> Iterator[None]:
    """Note in `regions` those that are entered while the context lasts.

    Those that this machine cannot enter are in the graph as they are written, and do nothing meanwhile.
    """
    asked: weakref.WeakKeyDictionary[Any, Place | None] = weakref.WeakKeyDictionary()
    written: weakref.WeakKeyDictionary[Any, tuple[Any, Any, bool]] = weakref.WeakKeyDictionary()
    cls = torch.autocast
    make: Callable[..., None] = cls.__init__
    enter: Callable[..., Any] = cls.__enter__
    leave: Callable[..., Any] = cls.__exit__

    def made(self: Any, device_type: Any, dtype: Any = None, enabled: bool = True, cache_enabled: Any = None) -> None:
        if enabled:
            asked[self] = _place(sys._getframe(1), internals, sources)
        if isinstance(device_type, str) and not _is_available(device_type):
            make(self, "cpu", None, False, cache_enabled)
            written[self] = device_type, dtype, enabled
            return
        make(self, device_type, dtype, enabled, cache_enabled)
        if enabled and not self._enabled:  # the device is not there
            written[self] = device_type, dtype, enabled

    def entered(self: Any) -> Any:
        place = asked.get(self)
        if place is not None and place not in regions.enabled:
            regions.enabled.append(place)
        before = _entered_nodes()
        result = enter(self)
        regions.running.append(place is not None)
        if self in written:
            _rewrite_nodes(before, *written[self])
        return result

    def left(self: Any, *error: Any) -> Any:
        regions.running.pop()
        return leave(self, *error)

    cls.__init__, cls.__enter__, cls.__exit__ = made, entered, left  # type: ignore[method-assign]
    try:
        yield
    finally:
        cls.__init__, cls.__enter__, cls.__exit__ = make, enter, leave  # type: ignore[method-assign]


def _entered_nodes() -> list[Any]:
    """The graph's nodes for the regions that are running; none for one in a leaf, of which the graph knows nothing."""
    modes: list[Any] = torch.overrides._get_current_function_mode_stack()  # type: ignore[no-untyped-call]
    return [n for mode in modes if isinstance(mode, PreDispatchTorchFunctionMode) for n in mode.enter_autocast_nodes]


def _rewrite_nodes(before: list[Any], device: Any, dtype: Any, enabled: bool) -> None:
    """Let the region that was entered last be in the graph as it is written."""
    for node in _entered_nodes():
        if node not in before:
            node.args = (device, dtype, enabled, node.args[3])


def _is_available(device_type: str) -> bool:
    """Whether torch knows what to cast to on a device; never on meta, which stands for the device of the model."""
    try:
        return device_type != "meta" and bool(torch.amp.is_autocast_available(device_type))
    except RuntimeError:  # it does not know the device
        return False


def _place(frame: FrameType | None, internals: Internals, sources: Sources) -> Place | None:
    """The innermost place in the user's own files; failing that, the innermost outside of torch."""
    innermost: Place | None = None
    while frame is not None:
        filename = frame.f_code.co_filename
        if sources.is_own(filename):
            return Place(frame.f_code, frame.f_lasti)
        if innermost is None and filename not in internals:
            innermost = Place(frame.f_code, frame.f_lasti)
        frame = frame.f_back
    return innermost
