"""Lets tensors on the CPU pretend to lie on the virtual device: what torch is asked for a device is answered for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack

from streamsched.dsl.record.memory import Block, nbytes
from streamsched.dsl.record.recorder import Recorder
from streamsched.dsl.trace.model import StorageKind
from streamsched.dsl.trace.tracing.accelerator import ACCELERATORS, device_type

_OPERATORS = torch._ops.OpOverload | torch._ops.OpOverloadPacket
_DEVICE = torch.Tensor.device.__get__
_IS_CUDA = torch.Tensor.is_cuda.__get__  # type: ignore[attr-defined]
_IS_META = torch.Tensor.is_meta.__get__  # type: ignore[attr-defined]
_IS_CPU = torch.Tensor.is_cpu.__get__  # type: ignore[attr-defined]


class DeviceMode(TorchFunctionMode):
    """Rewrites `device=` and answers for the virtual device, whatever the user's code asks."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder
        self._answers: dict[Any, Callable[..., Any]] = {
            _DEVICE: self._device,
            _IS_CUDA: lambda tensor: self.kind_of(tensor) == "cuda",
            _IS_CPU: lambda tensor: self.kind_of(tensor) == "cpu",
            _IS_META: lambda tensor: tensor.is_meta and not self.recorder.fake,
            torch.Tensor.get_device: lambda tensor: -1 if self.recorder.is_on_host(tensor) else 0,
            torch.Tensor.to: self._to,
            torch.Tensor.type: self._type,
            torch.Tensor.cuda: self._move,
            torch.Tensor.cpu: self._cpu,
            torch.Tensor.pin_memory: self._pin_memory,
            torch.Tensor.is_pinned: self._is_pinned,
            torch.Tensor.numpy: self._numpy,
            torch.Tensor.__array__: self._array,
            torch.Tensor.tolist: self._tolist,
            torch.Tensor.data_ptr: self._data_ptr,
            torch.Tensor.__dlpack__: self._dlpack,
        }

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        answer = self._answers.get(func)
        if answer is not None:
            return answer(*args, **kwargs)
        if isinstance(func, _OPERATORS):
            return self._operator(func, args, kwargs)
        if "device" in kwargs or kwargs.get("pin_memory"):
            return self._made(func, args, kwargs)
        return func(*args, **kwargs)

    def kind_of(self, tensor: torch.Tensor) -> str:
        """The type of the device that a tensor pretends to lie on."""
        return "cpu" if self.recorder.is_on_host(tensor) else self.recorder.device.kind

    # Questions

    def _device(self, tensor: torch.Tensor) -> torch.device:
        kind = self.kind_of(tensor)
        return torch.device(kind) if kind == "cpu" else torch.device(kind, 0)

    def _type(self, tensor: torch.Tensor, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        if dtype is not None:
            return tensor.type(dtype, *args, **kwargs)
        named = torch.empty(0, dtype=tensor.dtype).type()
        kind = self.kind_of(tensor)
        return named if kind == "cpu" else named.replace("torch.", f"torch.{kind}.")

    def _is_pinned(self, tensor: torch.Tensor, *_: Any) -> bool:
        block = self.recorder.memory.block(tensor)
        return block is not None and block.pinned

    def _operator(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.recorder.as_function = True
        try:
            return self._made(func, args, kwargs) if "device" in kwargs else func(*args, **kwargs)
        finally:
            self.recorder.as_function = False

    # New tensors

    def _made(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that says where its result is to be."""
        kwargs = dict(kwargs)
        pinned = bool(kwargs.pop("pin_memory", False))
        device = kwargs.pop("device", None)
        if device is not None:
            kwargs["device"] = self.recorder.real if device_type(device) in ACCELERATORS else device
        if pinned:  # what is copied into it from the device has no values where the device has none
            kwargs["device"] = self.recorder.real
        before = self.recorder.placing
        self.recorder.placing = "host" if pinned else before if device is None else self._place(device)
        try:
            result = func(*args, **kwargs)
        finally:
            self.recorder.placing = before
        if pinned and isinstance(result, torch.Tensor):
            self._note_pinned(result)
        return result

    def _place(self, device: Any) -> str:
        return "device" if device_type(device) in ACCELERATORS else "" if device_type(device) == "meta" else "host"

    def _note_pinned(self, tensor: torch.Tensor) -> None:
        block = self.recorder.memory.block(tensor)
        if block is not None:
            block.pinned, block.on_host = True, True

    # Copies between host and device

    def _to(self, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        other = args[0] if args else kwargs.get("other")
        if isinstance(other, torch.Tensor):
            kwargs.pop("other", None)
            return self._transfer(tensor, self.kind_of(other), other.dtype, *args[1:], **kwargs)
        device, dtype, non_blocking, copy, memory_format = _to_arguments(args, kwargs)
        kind = self.kind_of(tensor) if device is None else device_type(device)
        if kind == "meta":
            return tensor.to(*args, **kwargs)
        return self._transfer(tensor, kind, dtype, non_blocking, copy, memory_format)

    def _move(self, tensor: torch.Tensor, device: Any = None, non_blocking: bool = False, **_: Any) -> torch.Tensor:
        return self._transfer(tensor, self.recorder.device.kind, None, non_blocking)

    def _cpu(self, tensor: torch.Tensor, memory_format: Any = None) -> torch.Tensor:
        return self._transfer(tensor, "cpu", None, False, False, memory_format)

    def _transfer(
        self,
        tensor: torch.Tensor,
        kind: str,
        dtype: torch.dtype | None,
        non_blocking: bool = False,
        copy: bool = False,
        memory_format: Any = None,
    ) -> torch.Tensor:
        options: dict[str, Any] = {} if memory_format is None else {"memory_format": memory_format}
        to_host, from_host = kind == "cpu", self.recorder.is_on_host(tensor)
        if to_host == from_host:
            return tensor.to(dtype=dtype or tensor.dtype, copy=copy, **options)
        asynchronous = non_blocking and (to_host or self._is_pinned(tensor))
        if to_host and not asynchronous:
            self._need_values(tensor, "cpu")
        with self.recorder.silence():
            made = tensor.to(self.recorder.real, dtype or tensor.dtype, copy=True, **options)
        self.recorder.transferred(tensor, made, kind, blocking=not asynchronous)
        return torch.nn.Parameter(made, tensor.requires_grad) if isinstance(tensor, torch.nn.Parameter) else made

    def _pin_memory(self, tensor: torch.Tensor, *_: Any) -> torch.Tensor:
        with self.recorder.silence():
            made = tensor.to(self.recorder.real, copy=True)
        name = next(filter(None, self.recorder.device.places.bound()), "pin_memory")
        block = Block(name, StorageKind.OP, nbytes(made), on_host=True, pinned=True)
        self.recorder.memory.add(made, block)
        self.recorder.read_back(tensor, "pin_memory")
        return made

    # What the host reads, and what is out of sight

    def _numpy(self, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        from streamsched.dsl.record.host_arrays import host_array  # whoever has no numpy does not come here

        self._look_through_numpy(tensor)
        with self.recorder.silence():
            array = tensor.numpy(*args, **kwargs)
        return host_array(self.recorder, tensor, array)

    def _array(self, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        self._look_through_numpy(tensor)
        with self.recorder.silence():
            return tensor.__array__(*args, **kwargs)  # type: ignore[no-untyped-call]

    def _look_through_numpy(self, tensor: torch.Tensor) -> None:
        if not self.recorder.is_on_host(tensor):
            kind = self.recorder.device.kind
            raise TypeError(f"can't convert {kind}:0 device type tensor to numpy; copy it to host memory by `.cpu()`")
        self._need_values(tensor, "numpy")
        self.recorder.read_back(tensor, "numpy")

    def _tolist(self, tensor: torch.Tensor) -> Any:
        self._need_values(tensor, "tolist")
        self.recorder.read_back(tensor, "tolist")
        with self.recorder.silence():
            return tensor.tolist()

    def _need_values(self, tensor: torch.Tensor, what: str) -> None:
        if tensor.is_meta:
            raise self.recorder.refusals.needs_values(what)

    def _dlpack(self, tensor: torch.Tensor, **_: Any) -> Any:
        self.recorder.launches.address_taken(tensor.untyped_storage())
        return torch.zeros(1).__dlpack__()  # whatever takes it launches nothing here

    def _data_ptr(self, tensor: torch.Tensor) -> int:
        self.recorder.launches.address_taken(tensor.untyped_storage())
        return tensor.data_ptr()


def in_place() -> Recorder | None:
    """The recorder of the virtual device that is in place, if one is."""
    modes = _get_current_function_mode_stack()  # type: ignore[no-untyped-call]
    return next((mode.recorder for mode in reversed(modes) if isinstance(mode, DeviceMode)), None)


def _to_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, torch.dtype | None, bool, bool, Any]:
    """Device, dtype, non_blocking, copy and memory format of `to(...)`."""
    rest = list(args)
    device = kwargs.get("device")
    if rest and not isinstance(rest[0], torch.dtype) and not isinstance(rest[0], bool):
        device = rest.pop(0)
    dtype = rest.pop(0) if rest and (rest[0] is None or isinstance(rest[0], torch.dtype)) else kwargs.get("dtype")
    flags = [bool(flag) for flag in rest] + [False, False]
    non_blocking = bool(kwargs.get("non_blocking", flags[0]))
    return device, dtype, non_blocking, bool(kwargs.get("copy", flags[1])), kwargs.get("memory_format")
