"""The engines that run on a device: the generated forward against the original, compiled or eager."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.utils._pytree as pytree

from streamsched.codegen.emitter import generate
from streamsched.dsl.program.steps import Program
from streamsched.dsl.trace.tracing.collectives import copy_model
from streamsched.npu_sim import control
from streamsched.npu_sim.log import Record
from streamsched.verify.compare import differences
from streamsched.verify.evidence import evidence
from streamsched.verify.generated import load_generated
from streamsched.verify.launches import captured
from streamsched.verify.live import Live, State
from streamsched.verify.request import Request
from streamsched.verify.samples import Sample
from streamsched.verify.sizes import dims_of
from streamsched.verify.steering import Delay, Steering
from streamsched.verify.stream_numbers import scheduled_streams, stream_names
from streamsched.verify.unsupported import missing_kernel, original_raises, other_mode
from streamsched.verify.verdict import Difference, Failure, Verdict


@dataclass(frozen=True, slots=True)
class Device:
    """A device as torch names it, and how its streams are steered; no steerings: by delays.

    `replays` tells that a captured graph runs there, which overwrites in each call what it returned in the one before.
    """

    name: str
    words: str
    serial: Steering | None
    steerings: tuple[Steering, ...]
    replays: bool = False


@dataclass(frozen=True, slots=True)
class Subject:
    """A forward under test: the module that it was bound to, and what to call."""

    module: torch.nn.Module
    forward: Callable[..., Any]


def verify_on_device(
    program: Program, live: Live, request: Request, device: Device, others: Sequence[Program] = ()
) -> Verdict:
    """Run original and generated forward on `device`, several calls in a row under each steering.

    The forwards of `others` are bound to the same model.

    The reference is the original on the same engine with the same options, in serial order. Eagerly, the outputs of all
    calls of a steering are kept on the device and compared at its end, so that memory which is reused too early shows;
    those of a captured graph are taken after each call, since the next one overwrites them. Raises `CannotRunError`
    where the original raises, or an operator has no kernel there.
    """
    # A graph is captured for each size: all calls have the same, so that they replay one.
    sizes = live.sizes(dims_of((program, *others)), request.seed)
    samples = [live.sample(request.seed + call, sizes) for call in range(request.calls)]
    found: list[Difference] = []
    failed: list[Failure] = []
    records: tuple[Record, ...] = ()
    names: list[str] = []
    streams: dict[int, str] = {}
    with torch.no_grad():
        try:
            reference = expected(live, request, device, samples)
        except Exception as error:
            raise original_raises(error, live.integers) from error
        texts = [generate(each, request.engine) for each in (program, *others)]
        subject = bound(texts[0], live, request, device, texts[1:])
        start = State.of(subject.module)
        try:
            if device.serial is not None:
                streams = stream_names(subject.module, device.name)
                records = first_launches(subject, live, samples, device)
            for steering in device.steerings or _delays(subject.module, device):
                names.append(steering.name)
                start.restore()
                found += differing(subject, reference, live, samples, device, steering)
        except Exception as error:
            lacking = missing_kernel(error) or other_mode((program, *others), request.engine, error)
            if lacking is not None:
                raise lacking from error
            failed.append(Failure.of(names[-1] if names else "the first call", error))
    return Verdict(
        request.engine,
        f"the generated forward{'s' * bool(others)} against the original on {device.words}, bit for bit",
        tuple(names),
        request.calls,
        tuple(found),
        tuple(failed),
        evidence(records, request.verbose, streams) if found or failed else (),
    )


def expected(live: Live, request: Request, device: Device, samples: Sequence[Sample]) -> list[Any]:
    """The outputs of the original, in serial order, behind a first call that compiles and captures.

    What that call returns as a view of an input is with npugraph_ex a view of a buffer that the next call overwrites.
    """
    original = copy_model(live.model).to(device.name)
    start = State.of(original)
    forward = _compiled(original, request)
    _calls(forward, live, samples[:1], device, device.serial)
    start.restore()
    return _calls(forward, live, samples, device, device.serial)


def bound(text: str, live: Live, request: Request, device: Device, others: Sequence[str] = ()) -> Subject:
    """The generated file `text`, bound to a copy of the model, on which `others` are bound, too. Nothing compiled
    before is used again."""
    torch._dynamo.reset()
    namespace = load_generated(text)
    module = copy_model(live.model).to(device.name)
    for other in others:
        load_generated(other)["apply"](module, strict=True)
    if request.engine == "npugraph_ex":
        return Subject(module, namespace["compile"](module, strict=True, **dict(request.options)))
    return Subject(module, namespace["apply"](module, strict=True))


def differing(
    subject: Subject, reference: list[Any], live: Live, samples: Sequence[Sample], device: Device, steering: Steering
) -> list[Difference]:
    """Where the calls under one steering differ from the reference."""
    outputs = _calls(subject.forward, live, samples, device, steering)
    pairs = enumerate(zip(outputs, reference, strict=True))
    return [found for call, (one, other) in pairs for found in differences(one, other, steering.name, call)]


def first_launches(subject: Subject, live: Live, samples: Sequence[Sample], device: Device) -> tuple[Record, ...]:
    """What the first calls launch on the simulated NPU: those of the graph, if they are captured into one.

    Nothing is waited for between the calls, and all outputs are kept, so that memory which one call leaves to the next
    shows in the log.
    """
    synchronize = getattr(torch, device.name).synchronize
    given = [live.call(sample, device.name) for sample in samples[:2]]
    synchronize()
    assert device.serial is not None
    device.serial.prepare()
    with tempfile.TemporaryDirectory() as folder, control.logged(Path(folder, "launches.jsonl")) as records:
        kept = [subject.forward(*args, **kwargs) for args, kwargs in given]
        synchronize()  # torch_npu launches from a thread of its own
    del kept
    while records and records[-1].stream is None:
        records.pop()  # that synchronisation is none of the forward's
    return captured(records) or tuple(records)


def _compiled(model: torch.nn.Module, request: Request) -> Any:
    """The original as the engine runs it."""
    if request.engine != "npugraph_ex":
        return model
    return torch.compile(
        model, backend="npugraph_ex", fullgraph=True, dynamic=False, options=dict(request.options) or None
    )


def _delays(scheduled: torch.nn.Module, device: Device) -> tuple[Steering, ...]:
    """A delay on each side stream in turn."""
    streams = scheduled_streams(scheduled)
    return tuple(Delay(name, lambda: streams, device.name) for name in sorted(streams))


def _calls(
    forward: Callable[..., Any], live: Live, samples: Sequence[Sample], device: Device, steering: Steering | None
) -> list[Any]:
    """The outputs of calls in a row, brought to the CPU after the last; after each where a graph is replayed."""
    synchronize = getattr(torch, device.name).synchronize
    outputs = []
    for number, sample in enumerate(samples):
        args, kwargs = live.call(sample, device.name)
        torch.manual_seed(number)
        synchronize()
        if steering is not None:
            steering.prepare()
        output = forward(*args, **kwargs)
        if device.replays:
            synchronize()
            output = _on_cpu(output)
        outputs.append(output)
    synchronize()
    return outputs if device.replays else [_on_cpu(output) for output in outputs]


def _on_cpu(output: Any) -> Any:
    """A tree of outputs, its tensors copied to the CPU."""
    return pytree.tree_map(lambda leaf: leaf.cpu() if isinstance(leaf, torch.Tensor) else leaf, output)
