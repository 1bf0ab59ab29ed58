"""Tensors whose dtype autocast decides on the device, and who asks for it: the meta device, which casts nothing, gives
another answer."""

from __future__ import annotations

from types import FrameType
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import (
    disable_proxy_modes_tracing,
    get_proxy_mode,
    get_proxy_slot,
    set_proxy_slot,
)
from torch.utils.weak import WeakIdKeyDictionary

from streamsched.dsl.trace.tracing.containers import tensors
from streamsched.dsl.trace.tracing.failures import Place
from streamsched.dsl.trace.tracing.frames import Internals
from streamsched.dsl.trace.tracing.traps.autocast import Regions

_QUESTIONS = frozenset({"dtype", "itemsize", "nbytes"})
_CALLED_QUESTIONS = frozenset({"element_size", "type"})
_CASTS = frozenset({"float", "half", "bfloat16", "double"})
_MAY_RETURN_IT = _CASTS | {"to", "type", "type_as"}
_OWN_PYTHON = "/torch/nn/"
"""Where torch's Python makes of a dtype what becomes part of the graph."""


class CastDtypes:
    """The tensors that a region of `regions` may have cast, or that were computed of such; `asked` are the places that
    ask for the dtype of one, each once."""

    def __init__(self, regions: Regions, internals: Internals) -> None:
        self.asked: list[Place] = []
        self._regions = regions
        self._internals = internals
        self._tensors: Any = WeakIdKeyDictionary()

    @property
    def possible(self) -> bool:
        """Whether an enabled region has been entered: otherwise there is nothing to note."""
        return bool(self._regions.enabled)

    def asking(self, func: Any, args: tuple[Any, ...], frame: FrameType) -> None:
        """Note a call into torch from `frame` that only looks at a tensor, if it asks for an unknown dtype."""
        name = getattr(func, "__name__", "")
        if name == "__get__":
            asks = getattr(func.__self__, "__name__", "") in _QUESTIONS
        else:
            asks = name in _CALLED_QUESTIONS and len(args) == 1
        if not asks or args[0] not in self._tensors:
            return
        while frame.f_code.co_name == "__torch_function__" and frame.f_back is not None:  # of other modes
            frame = frame.f_back
        filename = frame.f_code.co_filename
        if filename not in self._internals or _OWN_PYTHON in filename:
            place = Place(frame.f_code, frame.f_lasti)
            if place not in self.asked:
                self.asked.append(place)

    def made(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any, leaf: bool) -> None:
        """Note what a call into torch returned; of a `leaf` it is not known whether it has a region of its own."""
        given = [each for each in tensors((args, kwargs)) if each.is_floating_point()]
        cast = leaf or (self._regions.casting and given) or any(each in self._tensors for each in given)
        if not cast or _says_dtype(func, args, kwargs):
            return
        for each in tensors(result):
            if each.is_floating_point() and not any(each is one for one in given):
                self._tensors[each] = None

    def slot(self, name: str, args: tuple[Any, ...]) -> Any:
        """What the graph knows the first argument by, if the call `name` may return that itself here and another tensor
        on the device: `y.to(dtype)` where `y` has that dtype without casts. Else None."""
        mode = get_proxy_mode()
        if mode is None or name not in _MAY_RETURN_IT or not args or args[0] not in self._tensors:
            return None
        return get_proxy_slot(args[0], mode.tracer, None)

    def apart(self, before: Any, first: Any, result: Any) -> Any:
        """Another tensor than `first`, if that is the result; `first` is then known by `before` again."""
        mode = get_proxy_mode()
        if mode is None or before is None or result is not first:
            return result
        with disable_proxy_modes_tracing(), torch._C.DisableTorchFunction():
            other = first.detach()
        set_proxy_slot(other, mode.tracer, get_proxy_slot(first, mode.tracer))
        set_proxy_slot(first, mode.tracer, before)
        return other


def _says_dtype(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call says itself which dtype it returns."""
    named = any(isinstance(each, torch.dtype) for each in (*args, *kwargs.values()))
    return named or getattr(func, "__name__", "") in _CASTS
