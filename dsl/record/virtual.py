"""Puts the virtual device in the place of `torch.cuda`, `torch.npu` and their kin, and takes it away again."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import torch
from torch.utils.backend_registration import rename_privateuse1_backend

from streamsched.dsl.record import namespace
from streamsched.dsl.record.capturing import graph_break
from streamsched.dsl.record.device_mode import DeviceMode
from streamsched.dsl.record.dispatch import launches
from streamsched.dsl.record.distributed import distributed
from streamsched.dsl.record.kernels import forget_modules
from streamsched.dsl.record.recorder import Recorder
from streamsched.dsl.record.replacing import replaced
from streamsched.dsl.record.resizing import resized
from streamsched.dsl.record.streams import VirtualStream
from streamsched.dsl.record.triton import launches_of_triton
from streamsched.dsl.trace.tracing.npu_stub import NAME, NoFakeError, Stub


@contextlib.contextmanager
def installed(recorder: Recorder) -> Iterator[None]:
    """Run Python on the virtual device while the context lasts: what it issues is told to the recorder."""
    npu = _npu_module(recorder)
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.compiler.set_stance("force_eager"))  # it imports what looks at torch.cuda
        stack.enter_context(_module(NAME, _TorchNpu(npu)))
        stack.enter_context(replaced(torch.cuda, namespace.namespace(recorder, "cuda")))
        stack.enter_context(replaced(torch.cuda.graphs, namespace.graphs(recorder)))
        stack.enter_context(replaced(torch, {**namespace.generic(recorder), "npu": npu}))
        stack.enter_context(replaced(torch.accelerator, namespace.accelerator(recorder)))
        stack.enter_context(replaced(torch._dynamo, {"graph_break": lambda msg="": graph_break(recorder)}))
        stack.enter_context(_module("torch.npu", npu))
        stack.enter_context(_module(f"{NAME}.npu", npu))
        stack.enter_context(_methods(recorder))
        stack.enter_context(distributed(recorder))
        stack.enter_context(launches_of_triton(recorder))
        stack.callback(forget_modules)
        stack.enter_context(launches(recorder))
        stack.enter_context(DeviceMode(recorder))
        yield


class _TorchNpu(Stub):
    """`import torch_npu`: an operator that nobody has registered can be imported, as libraries do, and not called."""

    def __init__(self, npu: ModuleType) -> None:
        super().__init__()
        self.npu = npu

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("npu_"):
            raise AttributeError(name)
        try:
            return getattr(torch.ops.npu, name)
        except AttributeError:
            return _lacking(name)


def _lacking(name: str) -> Callable[..., Any]:
    def lacking(*_: Any, **__: Any) -> Any:
        raise NoFakeError(name)

    return lacking


def _npu_module(recorder: Recorder) -> ModuleType:
    """`torch.npu`; where code is for it, torch learns that there is a device of that name, and does not forget it."""
    if recorder.device.kind == "npu" and torch._C._get_privateuse1_backend_name() != "npu":
        rename_privateuse1_backend("npu")
    module = ModuleType("torch.npu")
    vars(module).update(namespace.namespace(recorder, "npu"))
    vars(module).update(namespace.npu_only(recorder))
    return module


@contextlib.contextmanager
def _module(name: str, module: ModuleType) -> Iterator[None]:
    before = sys.modules.get(name)
    sys.modules[name] = module
    try:
        yield
    finally:
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before


@contextlib.contextmanager
def _methods(recorder: Recorder) -> Iterator[None]:
    """`tensor.npu()`, `tensor.is_npu` and `module.npu()`, which torch_npu adds, and `record_stream`, which takes no
    stream but a device's."""

    def record_stream(tensor: torch.Tensor, stream: VirtualStream) -> None:
        if not recorder.device.others.running():
            recorder.record_stream(tensor, stream.number)

    def npu(tensor: torch.Tensor, device: Any = None, non_blocking: bool = False) -> torch.Tensor:
        return tensor.to("npu", non_blocking=non_blocking)

    def is_npu(tensor: torch.Tensor) -> bool:
        return recorder.device.kind == "npu" and not recorder.is_on_host(tensor)

    def module_npu(module: torch.nn.Module, device: Any = None) -> torch.nn.Module:
        return module.to("npu")

    true_address = torch.UntypedStorage.data_ptr

    def data_ptr(storage: torch.UntypedStorage) -> int:
        recorder.launches.address_taken(storage)
        return true_address(storage)

    true_resize = torch.UntypedStorage.resize_

    def resize_(storage: torch.UntypedStorage, size: int) -> torch.UntypedStorage:
        true_resize(storage, size)
        resized(recorder, storage)
        return storage

    def to_dlpack(tensor: torch.Tensor) -> Any:
        return tensor.__dlpack__()

    tensor = {"npu": npu, "is_npu": property(is_npu), "record_stream": record_stream}
    with (
        replaced(torch.Tensor, tensor),
        replaced(torch.nn.Module, {"npu": module_npu}),
        replaced(torch.UntypedStorage, {"data_ptr": data_ptr, "resize_": resize_}),
        replaced(torch.utils.dlpack, {"to_dlpack": to_dlpack}),
        replaced(torch, {"to_dlpack": to_dlpack}),
    ):
        yield
