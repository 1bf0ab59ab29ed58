"""The process that a device engine runs in: `python -m streamsched.verify.child VERDICT < REQUEST`.

The environment was arranged by the parent. The verdict is written to the file VERDICT, since the device's libraries
print what they like.
"""

from __future__ import annotations

import sys
from pathlib import Path

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.pipeline import load, trace_request
from streamsched.verify.request import Request, request_from_json, verdict_to_json
from streamsched.verify.verdict import Failure, Verdict


def main() -> None:
    """Verify as the request on standard input says."""
    request = request_from_json(sys.stdin.read())
    Path(sys.argv[1]).write_text(verdict_to_json(_verify(request)), encoding="utf-8")


def _verify(request: Request) -> Verdict:
    from streamsched.verify.devices import device_of

    device = device_of(request)
    loaded = load(request.schedule, target=request.engine, instead=request.instead)
    if loaded.failed or loaded.program is None or loaded.trace is None:
        return _failed(request, "; ".join(d.message for d in loaded.diagnostics))

    from streamsched.verify.device import verify_on_device
    from streamsched.verify.live import live

    with live(trace_request(loaded.schedule, loaded.file.base), loaded.trace, request.seed) as alive:
        if isinstance(alive, Diagnostic):
            return _failed(request, alive.message)
        return verify_on_device(loaded.program, alive, request, device)


def _failed(request: Request, message: str) -> Verdict:
    return Verdict(request.engine, "nothing", (), request.calls, failures=(Failure("before any order", message),))


if __name__ == "__main__":
    main()
