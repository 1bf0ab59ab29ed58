"""The engines that run on a device: the generated forward against the original, compiled or eager."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.utils._pytree as pytree

from streamsched.codegen.emitter import generate
from streamsched.dsl.program.steps import Program
from streamsched.verify.compare import differences
from streamsched.verify.live import Live, Sample
from streamsched.verify.request import Request
from streamsched.verify.samples import sample_inputs
from streamsched.verify.steering import Delay, Steering
from streamsched.verify.verdict import Difference, Failure, Verdict


@dataclass(frozen=True, slots=True)
class Device:
    """A device as torch names it, and how its streams are steered; no steerings: by delays."""

    name: str
    words: str
    serial: Steering | None
    steerings: tuple[Steering, ...]


def verify_on_device(program: Program, live: Live, request: Request, device: Device) -> Verdict:
    """Run original and generated forward on `device`, several calls in a row under each steering.

    The reference is the original on the same engine with the same options, in serial order. Outputs of all calls of a
    steering are kept on the device and compared at its end, so that memory which is reused too early shows.
    """
    samples = [sample_inputs(live.trace, request.seed + call) for call in range(request.calls)]
    with torch.no_grad():
        original = copy.deepcopy(live.model).to(device.name)
        reference = _calls(_compiled(original, request), live, samples, device, device.serial)
        found: list[Difference] = []
        failed: list[Failure] = []
        scheduled, forward = _scheduled(program, live, request, device)
        steerings = device.steerings or _delays(scheduled, device)
        start = copy.deepcopy(scheduled.state_dict())
        for steering in steerings:
            scheduled.load_state_dict(start)
            try:
                outputs = _calls(forward, live, samples, device, steering)
            except Exception as error:
                failed.append(Failure(steering.name, f"{type(error).__name__}: {error}".splitlines()[0]))
                break
            for call, (output, expected) in enumerate(zip(outputs, reference, strict=True)):
                found += differences(output, expected, steering.name, call)
    return Verdict(
        request.engine,
        f"the generated forward against the original on {device.words}, bit for bit",
        tuple(steering.name for steering in steerings),
        request.calls,
        tuple(found),
        tuple(failed),
    )


def _compiled(model: torch.nn.Module, request: Request) -> Any:
    """The original as the engine runs it."""
    if request.engine != "npugraph_ex":
        return model
    return torch.compile(
        model, backend="npugraph_ex", fullgraph=True, dynamic=False, options=dict(request.options) or None
    )


def _scheduled(program: Program, live: Live, request: Request, device: Device) -> tuple[torch.nn.Module, Any]:
    """The module that the generated forward was bound to, and what to call."""
    namespace: dict[str, Any] = {"__name__": "generated"}
    text = generate(program, request.engine)
    exec(compile(text, "<generated>", "exec"), namespace)  # the product's own output
    module = copy.deepcopy(live.model).to(device.name)
    if request.engine == "npugraph_ex":
        return module, namespace["compile"](module, **dict(request.options))
    return module, namespace["apply"](module)


def _delays(scheduled: torch.nn.Module, device: Device) -> tuple[Steering, ...]:
    """A delay on each side stream in turn."""
    streams: dict[str, Any] = getattr(scheduled, "scheduled_streams", {})
    return tuple(Delay(name, lambda: streams, device.name) for name in sorted(streams))


def _calls(forward: Any, live: Live, samples: Sequence[Sample], device: Device, steering: Steering | None) -> list[Any]:
    """The outputs of calls in a row, brought to the CPU after the last."""
    synchronize = getattr(torch, device.name).synchronize
    outputs = []
    for sample in samples:
        args, kwargs = live.call(sample, device.name)
        synchronize()
        if steering is not None:
            steering.prepare()
        outputs.append(forward(*args, **kwargs))
    synchronize()
    return [pytree.tree_map(lambda leaf: leaf.cpu() if isinstance(leaf, torch.Tensor) else leaf, o) for o in outputs]
