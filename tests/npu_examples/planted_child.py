"""Verifies multi_stream without one of its waits, as `streamsched verify` does."""

from __future__ import annotations

import json

from tiny import TINY, loaded, schedule

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.pipeline import trace_request
from streamsched.dsl.program.edit import without
from streamsched.dsl.program.steps import StepKind
from streamsched.verify.device import verify_on_device
from streamsched.verify.devices import device_of
from streamsched.verify.live import live
from streamsched.verify.render import render
from streamsched.verify.request import Request


def main() -> None:
    request = Request(schedule("multi_stream"), "npugraph_ex", 1, 2, instead=TINY["multi_stream"])
    device = device_of(request)
    found = loaded("multi_stream", "npugraph_ex")
    assert found.program is not None and found.trace is not None
    wait = next(i for i, step in enumerate(found.program.steps) if step.kind is StepKind.WAIT)
    with live(trace_request(found.schedule, found.file.base), request) as alive:
        assert not isinstance(alive, Diagnostic), alive
        verdict = verify_on_device(without(found.program, wait), alive, request, device)
    print("RESULT" + json.dumps(render(verdict)))


if __name__ == "__main__":
    main()
