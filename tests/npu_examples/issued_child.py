"""What the generated forwards really issue: `issued_child.py ENGINE,... EXAMPLE...`.

For each example and engine: the errors in the log, its steps, the waits without which the check finds an error, the
numbers of syncs in the log and in the plan, and how often a call of the model runs the forward.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any

import torch
from syncs import codes, doubled, entered, spelled_out, times
from tiny import ALL, loaded, schedule

from streamsched.codegen.emitter import generate
from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.pipeline import trace_request
from streamsched.dsl.program.edit import without
from streamsched.dsl.program.steps import Program, StepKind
from streamsched.verify.device import bound, first_launches
from streamsched.verify.devices import device_of
from streamsched.verify.evidence import errors
from streamsched.verify.launches import program_of
from streamsched.verify.live import live
from streamsched.verify.request import Request


def count(program: Program, kind: StepKind, steps: Iterable[int]) -> int:
    return sum(program.steps[step].kind is kind for step in steps)


def issued_on_used(log: Program) -> list[int]:
    """The steps that the log holds for streams where something runs.

    An attention lets a stream of torch_npu's own wait, and launches nothing there. That the host's own copies come
    behind entry stands in no log.
    """
    used = {step.stream for step in log.steps if step.runs}
    return [index for index, step in enumerate(log.steps) if step.stream in used and step.source is not None]


def spelled(program: Program) -> list[str]:
    """The launches and syncs, one short text each: `s5 wait e10`."""
    verbs = {StepKind.LAUNCH: "", StepKind.RECORD: "record ", StepKind.WAIT: "wait "}
    steps = [step for step in program.steps if step.kind in verbs]
    return [f"{program.streams[step.stream].name} {verbs[step.kind]}{step.name}" for step in steps]


def issued(name: str, engine: str) -> dict[str, Any]:
    found = loaded(name, engine)
    plan = found.program
    assert plan is not None and found.trace is not None
    request = Request(schedule(name), engine, 0, 2, instead=ALL[name])
    device = device_of(request)
    with live(trace_request(found.schedule, found.file.base), request) as alive, torch.no_grad():
        assert not isinstance(alive, Diagnostic), alive
        samples = [alive.sample(call) for call in range(2)]
        subject = bound(generate(plan, engine), alive, request, device)
        records = first_launches(subject, alive, samples, device)
    log = program_of(records)
    steps, planned = issued_on_used(log), spelled_out(plan)
    waits = [index for index in steps if log.steps[index].kind is StepKind.WAIT]
    return {
        "name": name,
        "engine": engine,
        "errors": [diagnostic.message for diagnostic in errors(records)],
        "steps": spelled(log),
        "needed": sum(bool(codes(without(log, index))) for index in waits),
        "sides": len(entered(plan)),
        "times": times(plan),
        "records": [count(log, StepKind.RECORD, steps), count(plan, StepKind.RECORD, planned)],
        "waits": [len(waits), count(plan, StepKind.WAIT, planned)],
        "doubled": doubled(plan),
    }


def main() -> None:
    for name in sys.argv[2:]:
        for engine in sys.argv[1].split(","):
            print("RESULT" + json.dumps(issued(name, engine)), flush=True)


if __name__ == "__main__":
    main()
