"""What `torch.cuda` and `torch.npu` offer on the virtual device, by name."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

import torch

from streamsched.dsl.program import via
from streamsched.dsl.program.steps import DEFAULT
from streamsched.dsl.record.capturing import VirtualGraph, captured, graph_class
from streamsched.dsl.record.recorder import Recorder
from streamsched.dsl.record.streams import Entered, VirtualStream, event_class, limited, stream_class
from streamsched.dsl.trace.model import NONE

_DEVICES = 1
_MEMORY = 64 << 30


def namespace(recorder: Recorder, kind: str) -> dict[str, Any]:
    """The attributes of `torch.cuda` (`kind` is "cuda") or `torch.npu` ("npu")."""
    graph = graph_class(recorder)
    return {
        **_streams(recorder),
        **_questions(recorder, kind),
        **_nothings(),
        "CUDAGraph": graph,
        "NPUGraph": graph,
        "graph": _graph_context(recorder),
        "graph_pool_handle": lambda: (0, 0),
        "nvtx": SimpleNamespace(
            range_push=_nothing, range_pop=_nothing, mark=_nothing, range=lambda *_, **__: contextlib.nullcontext()
        ),
        "is_current_stream_capturing": lambda: recorder.device.capturing != NONE,
    }


def npu_only(recorder: Recorder) -> dict[str, Any]:
    """What `torch.npu` has besides."""

    def limit_core_num(aic: int, aiv: int, stream: VirtualStream | None = None) -> Any:
        return limited(recorder.device, aic, aiv, stream)

    def set_stream_limit(stream: VirtualStream, aic: int, aiv: int) -> None:
        queue = recorder.device.queues[stream.number]
        queue.aic, queue.aiv = aic, aiv
        if recorder.device.log.running:
            queue.words.add(via.SET_STREAM_LIMIT)

    return {
        "npugraph_ex": SimpleNamespace(scope=SimpleNamespace(limit_core_num=limit_core_num)),
        "config": SimpleNamespace(),
        "get_amp_supported_dtype": lambda: [torch.float16, torch.bfloat16],
        "set_stream_limit": set_stream_limit,
        "reset_stream_limit": lambda stream: None,
        "ExternalEvent": event_class(recorder.device, (via.EXTERNAL_EVENT,)),
    }


def graphs(recorder: Recorder) -> dict[str, Any]:
    """What `torch.cuda.graphs` offers."""
    found = namespace(recorder, "cuda")
    return {name: found[name] for name in ("CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing")}


class _Generator(torch.Generator):
    """`torch.Generator(device="cuda")`, whose numbers come from the CPU."""

    def __new__(cls, device: Any = None) -> _Generator:
        made: _Generator = super().__new__(cls, device="cpu")  # type: ignore[call-arg]
        return made


def generic(recorder: Recorder) -> dict[str, Any]:
    """`torch.Stream`, `torch.Event` and `torch.Generator`."""
    return {
        "Generator": _Generator,
        "Stream": stream_class(recorder.device, (via.GENERIC_STREAM,)),
        "Event": event_class(recorder.device, (via.GENERIC_EVENT,)),
    }


def accelerator(recorder: Recorder) -> dict[str, Any]:
    """What `torch.accelerator` offers."""
    device = recorder.device
    found = _streams(recorder)
    names = ("current_stream", "set_stream", "synchronize")
    return {
        **{name: found[name] for name in names},
        "is_available": lambda: True,
        "device_count": lambda: _DEVICES,
        "set_device_index": _nothing,
        "empty_cache": _nothing,
        "current_device_index": lambda: 0,
        "current_accelerator": lambda check_available=False: torch.device(device.kind),
    }


def _streams(recorder: Recorder) -> dict[str, Any]:
    device = recorder.device
    stream, event = stream_class(device, ()), event_class(device, ())
    stream.makes = event

    def current_stream(_: Any = None) -> VirtualStream:
        return stream(stream_id=device.current_here())

    def default_stream(_: Any = None) -> VirtualStream:
        if device.log.running:
            device.queues[DEFAULT].words.add(via.DEFAULT_STREAM)
        return stream(stream_id=DEFAULT)

    def set_stream(given: VirtualStream | None) -> None:
        if given is not None:
            device.set_stream(given.number)

    def synchronize(_: Any = None) -> None:
        if not device.others.running():
            device.sync(NONE, via.DEVICE_SYNCHRONIZE)

    return {
        "Stream": stream,
        "ExternalStream": lambda pointer, device=None: stream(stream_id=pointer),
        "Event": event,
        "current_stream": current_stream,
        "default_stream": default_stream,
        "set_stream": set_stream,
        "stream": lambda given: Entered(device, given),
        "StreamContext": lambda given: Entered(device, given),
        "synchronize": synchronize,
    }


def _questions(recorder: Recorder, kind: str) -> dict[str, Any]:
    ours = kind == recorder.device.kind
    properties = SimpleNamespace(
        name=f"virtual {kind}", major=9, minor=0, total_memory=_MEMORY, multi_processor_count=132, warp_size=32
    )
    return {
        "is_available": lambda: ours,
        "is_initialized": lambda: ours,
        "device_count": lambda: _DEVICES if ours else 0,
        "current_device": lambda: 0,
        "get_device_name": lambda _=None: properties.name,
        "get_device_capability": lambda _=None: (properties.major, properties.minor),
        "get_device_properties": lambda _=None: properties,
        "get_rng_state": lambda _=None: torch.get_rng_state(),
        "set_rng_state": lambda state, _=None: torch.set_rng_state(state),
        "_is_in_bad_fork": lambda: False,
        "is_bf16_supported": lambda *_, **__: True,
        "mem_get_info": lambda _=None: (_MEMORY, _MEMORY),
        "memory_allocated": lambda _=None: 0,
        "memory_reserved": lambda _=None: 0,
        "max_memory_allocated": lambda _=None: 0,
        "device": lambda _: contextlib.nullcontext(),
    }


def _nothings() -> dict[str, Any]:
    """Calls that change nothing that is recorded."""
    names = (
        "init",
        "_lazy_init",
        "set_device",
        "empty_cache",
        "manual_seed",
        "manual_seed_all",
        "seed_all",
        "reset_peak_memory_stats",
        "set_compile_mode",
    )
    return dict.fromkeys(names, _nothing)


def _nothing(*_: Any, **__: Any) -> None:
    """Accept anything and do nothing."""


def _graph_context(recorder: Recorder) -> Any:
    make = stream_class(recorder.device, ())
    default: list[VirtualStream] = []

    def graph(cuda_graph: VirtualGraph, pool: Any = None, stream: VirtualStream | None = None, **_: Any) -> Any:
        if stream is None and not default:
            default.append(make())
            queue = recorder.device.queues[default[0].number]
            queue.name, queue.source, queue.made_in, queue.of_capture = "capture", None, NONE, True
        return captured(recorder, cuda_graph, default[0] if stream is None else stream)

    return graph
