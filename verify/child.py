"""The process that a device engine runs in: `python -m streamsched.verify.child VERDICT < REQUEST`.

The environment was arranged by the parent. The verdict, or why there is none, is written to the file VERDICT, since the
device's libraries print what they like.
"""

from __future__ import annotations

import sys
from pathlib import Path

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.pipeline import load, trace_request
from streamsched.dsl.program.steps import Program
from streamsched.verify.request import Request, answer_to_json, request_from_json
from streamsched.verify.verdict import CannotRunError, Verdict


def main() -> None:
    """Verify as the request on standard input says."""
    request = request_from_json(sys.stdin.read())
    try:
        answer: Verdict | CannotRunError = _verify(request)
    except CannotRunError as error:
        answer = error
    Path(sys.argv[1]).write_text(answer_to_json(answer), encoding="utf-8")


def _verify(request: Request) -> Verdict:
    from streamsched.verify.devices import device_of

    device = device_of(request)
    programs: list[Program] = []
    for path in (request.schedule, *request.others):
        loaded = load(path, target=request.engine, instead=request.instead)
        if loaded.failed or loaded.program is None:
            raise CannotRunError(f"cannot run: {'; '.join(d.message for d in loaded.diagnostics)}")
        programs.append(loaded.program)

    from streamsched.verify.device import verify_on_device
    from streamsched.verify.live import live

    with live(trace_request(loaded.schedule, loaded.file.base), request) as alive:
        if isinstance(alive, Diagnostic):
            raise CannotRunError(f"cannot run: {alive.message}", "\n".join(alive.notes))
        return verify_on_device(programs[0], alive, request, device, programs[1:])


if __name__ == "__main__":
    main()
