"""Verifies multi_stream: without one of its waits, as `streamsched verify` does, and with one wrong call of three."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import torch
from tiny import TINY, loaded, schedule

from streamsched.codegen.emitter import generate
from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.pipeline import trace_request
from streamsched.dsl.program.edit import without
from streamsched.dsl.program.steps import Program, StepKind
from streamsched.verify.device import Device, Subject, bound, differing, expected, verify_on_device
from streamsched.verify.devices import device_of
from streamsched.verify.live import Live, live
from streamsched.verify.render import render
from streamsched.verify.request import Request


def wrong_calls(program: Program, alive: Live, request: Request, device: Device) -> Iterator[list[int]]:
    """The calls whose results differ where only the first of three is given its inputs in another order, and so on."""
    subject = bound(generate(program, request.engine), alive, request, device)
    samples = [alive.sample(call) for call in range(3)]
    reference = expected(alive, request, device, samples)
    for wrong in range(3):
        calls = itertools.count()

        def forward(*args: torch.Tensor, wrong: int = wrong, calls: Iterator[int] = calls) -> Any:
            return subject.forward(*(reversed(args) if next(calls) == wrong else args))

        found = differing(Subject(subject.module, forward), reference, alive, samples, device, device.steerings[0])
        yield sorted({difference.call for difference in found})


def main() -> None:
    request = Request(schedule("multi_stream"), "npugraph_ex", 1, 2, instead=TINY["multi_stream"])
    device = device_of(request)
    found = loaded("multi_stream", "npugraph_ex")
    assert found.program is not None and found.trace is not None
    wait = next(i for i, step in enumerate(found.program.steps) if step.kind is StepKind.WAIT)
    with live(trace_request(found.schedule, found.file.base), request) as alive:
        assert not isinstance(alive, Diagnostic), alive
        planted = without(found.program, wait)
        verdict = verify_on_device(planted, alive, request, device)
        with torch.no_grad():
            wrong = list(wrong_calls(found.program, alive, request, device))
    print("RESULT" + json.dumps([render(verdict), wrong]))


if __name__ == "__main__":
    main()
