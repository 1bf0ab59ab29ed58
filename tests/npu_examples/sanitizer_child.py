"""Eager runs under torch_npu's own sanitizer: `sanitizer_child.py EXAMPLE...`; the environment switches it on."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import sys
from typing import Any

import torch
import torch_npu  # noqa: F401  (it adds torch.npu)
from syncs import freed_early
from tiny import TINY, loaded, schedule

from streamsched.codegen.emitter import generate
from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.pipeline import trace_request
from streamsched.verify.device import bound
from streamsched.verify.devices import device_of
from streamsched.verify.live import Live, live
from streamsched.verify.request import Request
from streamsched.verify.samples import sample_inputs

PLANTED = ("B_done.wait()", "B.record_stream(stream1)")
"""Lines of multi_stream that are taken out."""


def reported(text: str, alive: Live, request: Request) -> list[str]:
    """What the sanitizer says of two calls: the headline of each report, and the error that it raises."""
    npu: Any = vars(torch)["npu"]
    told = io.StringIO()
    found: list[str] = []
    subject = bound(text, alive, request, device_of(request))
    given = [alive.call(sample_inputs(alive.trace, call), "npu") for call in range(2)]
    npu.synchronize()
    with contextlib.redirect_stderr(told):
        try:
            for args, kwargs in given:
                subject.forward(*args, **kwargs)
        except Exception as error:
            found.append(type(error).__name__)
            npu.set_stream(npu.default_stream())
        gc.collect()
        npu.synchronize()
    return [*found, *(line for line in told.getvalue().splitlines() if "detected" in line)]


def main() -> None:
    for name in sys.argv[1:]:
        found = loaded(name, "npu")
        assert found.program is not None and found.trace is not None
        text = generate(found.program, "npu")
        request = Request(schedule(name), "npu", 0, 2, instead=TINY[name])
        with live(trace_request(found.schedule, found.file.base), found.trace, 0) as alive, torch.no_grad():
            assert not isinstance(alive, Diagnostic), alive
            planted = PLANTED if name == "multi_stream" else ()
            texts = [text, *(text.replace(line, "pass") for line in planted)]
            reports = [reported(each, alive, request) for each in texts]
        print("RESULT" + json.dumps([name, freed_early(found.program), reports]), flush=True)


if __name__ == "__main__":
    main()
