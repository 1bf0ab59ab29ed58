"""Verifies examples on the simulated NPU: `matrix_child.py ORDERS RUNS EXAMPLE...`, runs as digits: `012`."""

from __future__ import annotations

import json
import sys

from tiny import ALL, loaded, schedule

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.pipeline import trace_request
from streamsched.verify.device import verify_on_device
from streamsched.verify.devices import device_of
from streamsched.verify.live import live
from streamsched.verify.render import render
from streamsched.verify.request import Request

RUNS: tuple[tuple[str, tuple[tuple[str, bool], ...]], ...] = (
    ("npugraph_ex", ()),
    ("npugraph_ex", (("clone_input", False),)),
    ("npu", ()),
)


def main() -> None:
    orders, runs = int(sys.argv[1]), [RUNS[int(digit)] for digit in sys.argv[2]]
    for name in sys.argv[3:]:
        for engine, options in runs:
            request = Request(schedule(name), engine, orders, instead=ALL[name], options=options)
            device = device_of(request)
            found = loaded(name, engine)
            assert found.program is not None and found.trace is not None
            with live(trace_request(found.schedule, found.file.base), request) as alive:
                assert not isinstance(alive, Diagnostic), alive
                verdict = verify_on_device(found.program, alive, request, device)
            run = f"{name} {engine} {dict(options) or ''}".rstrip()
            print("RESULT" + json.dumps([run, verdict.agrees, len(verdict.orders), render(verdict)]))


if __name__ == "__main__":
    main()
