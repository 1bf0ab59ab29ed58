"""Takes every sync line out of the generated forwards, one at a time: `removals_child.py ENGINE,... EXAMPLE...`.

A line of a forward that serves many modules is taken out of each of them. Each removal gets one class, the first that
holds of: c rejected, a wrong numbers, b named by the check on the launch log, d order only, e doubled by npugraph_ex, f
nothing reuses the block. The last three are proved from the program.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch_npu  # noqa: F401  (it adds torch.npu)
from syncs import Sync, proved, syncs, text_without
from tiny import ALL, loaded, schedule

from streamsched.codegen.emitter import generate
from streamsched.dsl.check.accesses import races
from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.pipeline import trace_request
from streamsched.dsl.program.steps import Program
from streamsched.npu_sim import control, orders
from streamsched.npu_sim.log import Record
from streamsched.verify.device import Device, bound, differing, expected, first_launches
from streamsched.verify.devices import device_of
from streamsched.verify.evidence import errors
from streamsched.verify.launches import program_of
from streamsched.verify.live import Live, State, live
from streamsched.verify.request import Request
from streamsched.verify.samples import Sample
from streamsched.verify.steering import SimulatedOrder

LOGGED = 2
"""Calls in an eager log."""

DIRECTED = 6
"""Races for which directed orders are tried."""

CONTRADICTION = "numbers are wrong without it, and the program proves that it is not needed"


@dataclass(frozen=True)
class Setting:
    """One example on one engine."""

    program: Program
    alive: Live
    request: Request
    device: Device
    samples: list[Sample]
    reference: list[Any]


def classify(setting: Setting, text: str, sync: Sync) -> tuple[str, str]:
    """The class of one removal, and what shows it."""
    try:
        subject = bound(text_without(text, sync), setting.alive, setting.request, setting.device)
        start = State.of(subject.module)
        records = first_launches(subject, setting.alive, setting.samples, setting.device)
    except Exception as error:
        recover()
        return "c", rejection(error)
    found = {diagnostic.code for diagnostic in errors(records)}
    for steering in (*setting.device.steerings, *directed(records)):
        start.restore()
        if differing(subject, setting.reference, setting.alive, setting.samples, setting.device, steering):
            return ("?", CONTRADICTION) if proved(setting.program, sync)[0] in "de" else ("a", steering.name)
    if found:
        return "b", " ".join(sorted(found))
    return proved(setting.program, sync)


def directed(records: Sequence[Record]) -> Iterator[SimulatedOrder]:
    """Orders that run the later launch of a race first, or the earlier one last.

    Nodes are numbered through all calls of an eager log, and by call where an order is set.
    """
    program = program_of(records)
    numbered = {record.order + 1: record.node for record in records if record.node is not None}
    eager = all(record.graph is None for record in records)
    period = len(numbered) // LOGGED if eager and numbered else len(numbered) + 1
    nodes = {line: node % period for line, node in numbered.items()}
    for race in races(program)[:DIRECTED]:
        for step, order in ((race.after, orders.before), (race.before, orders.after)):
            source = program.steps[step].source
            node = nodes.get(source.line) if source is not None else None
            if node is not None:
                yield SimulatedOrder(order(node))


def rejection(error: Exception) -> str:
    """The error's type, and the runtime's number where it has one."""
    number = " 107025" if "107025" in str(error) else ""
    return f"{type(error).__name__}{number}"


def recover() -> None:
    """A capture that failed leaves its stream current, and an error on the device."""
    npu: Any = vars(torch)["npu"]
    npu.set_stream(npu.default_stream())
    control.clear_error()
    npu.synchronize()


def removals(name: str, engine: str) -> Iterator[tuple[str, ...]]:
    """One row for each sync line: example, engine, line, class, evidence."""
    request = Request(schedule(name), engine, 2, 2, instead=ALL[name])
    device = device_of(request)
    found = loaded(name, engine)
    assert found.program is not None and found.trace is not None
    text = generate(found.program, engine)
    with live(trace_request(found.schedule, found.file.base), request) as alive, torch.no_grad():
        assert not isinstance(alive, Diagnostic), alive
        samples = [alive.sample(call) for call in range(request.calls)]
        reference = expected(alive, request, device, samples)
        setting = Setting(found.program, alive, request, device, samples, reference)
        for sync in syncs(text, found.program):
            yield name, engine, sync.words(found.program), *classify(setting, text, sync)


def main() -> None:
    for name in sys.argv[2:]:
        for engine in sys.argv[1].split(","):
            rows = list(removals(name, engine))  # what is printed meanwhile is the user's model's, and goes to stderr
            for row in rows:
                print("RESULT" + json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
