"""Building a model whose code names an accelerator, on the meta device: what is asked for there lies on it, too."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _device

ACCELERATORS = frozenset({"cuda", "npu"})
"""The types of devices that models name."""

_META = "meta"


def device_type(device: Any) -> str:
    """The type of a device, however it is spelled; an index is the accelerator's."""
    if isinstance(device, torch.device):
        return device.type
    return "cuda" if isinstance(device, int) else str(device).partition(":")[0]


@contextlib.contextmanager
def on_meta() -> Iterator[None]:
    """Give the meta device wherever a CUDA or an NPU device is asked for while the context lasts.

    So a trace is the same on machines with the device and without. Pinned memory is memory like any other.
    """
    lacking = {} if hasattr(torch.Tensor, "npu") else {torch.Tensor: "npu", torch.nn.Module: "npu"}
    for owner, name in lacking.items():
        setattr(owner, name, lambda this, *_, **__: this.to(_META))
    try:
        with _OnMeta():
            yield
    finally:
        for owner, name in lacking.items():
            delattr(owner, name)


class _OnMeta(TorchFunctionMode):
    """Rewrites the devices in calls of torch."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func is torch.Tensor.pin_memory:
            return args[0].clone()
        if func is torch.Tensor.cuda:
            return args[0].to(_META)
        if func is torch.Tensor.to and len(args) > 1 and _is_accelerator(args[1]):
            args = (args[0], _META, *args[2:])
        if _is_accelerator(kwargs.get("device")) or _by_default(func, kwargs):
            kwargs["device"] = _META
        if kwargs.get("pin_memory"):
            kwargs["pin_memory"] = False
        return func(*args, **kwargs)


def _is_accelerator(device: Any) -> bool:
    named = isinstance(device, torch.device | str | int) and not isinstance(device, bool)
    return named and device_type(device) in ACCELERATORS


def _by_default(func: Any, kwargs: dict[str, Any]) -> bool:
    """Whether a call makes a tensor in a block of `torch.device("cuda")`, which is asked after this mode."""
    default = _device.CURRENT_DEVICE
    makes = kwargs.get("device") is None and func in _device._device_constructors()
    return makes and default is not None and default.type in ACCELERATORS
