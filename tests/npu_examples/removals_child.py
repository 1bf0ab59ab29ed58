"""Takes every sync line out of the generated forwards, one at a time: `removals_child.py EXAMPLE...`.

Each removal gets one class, the first that holds of: c rejected, a wrong numbers, b named by the check on the launch
log, d order only, e doubled by npugraph_ex, f nothing reuses the block. The last three are proved from the program.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch_npu  # noqa: F401  (it adds torch.npu)
from syncs import ORDER_ONLY, REUSE, Sync, codes, program_without, syncs, text_without, with_inserted
from tiny import TINY, loaded, schedule

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
from streamsched.verify.live import Live, live
from streamsched.verify.request import Request
from streamsched.verify.samples import Sample
from streamsched.verify.steering import SimulatedOrder

LOGGED = 2
"""Calls in an eager log."""

DIRECTED = 6
"""Races for which directed orders are tried."""


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
        records = first_launches(subject, setting.alive, setting.samples, setting.device)
    except Exception as error:
        recover()
        return "c", rejection(error)
    found = {diagnostic.code for diagnostic in errors(records)}
    for steering in (*setting.device.steerings, *directed(records)):
        if differing(subject, setting.reference, setting.alive, setting.samples, setting.device, steering):
            return "a", steering.name
    if found:
        return "b", " ".join(sorted(found))
    return proved(setting, sync)


def proved(setting: Setting, sync: Sync) -> tuple[str, str]:
    """The class that the program proves of a removal that no order shows and whose log is free of races."""
    thinned = program_without(setting.program, sync)
    alone = codes(thinned)
    left = codes(with_inserted(thinned)) if setting.request.engine == "npugraph_ex" else alone
    if left and left <= ORDER_ONLY:
        return "d", "nothing but a declared edge asks for it"
    if alone and not left:
        return "e", f"inserted too ({' '.join(sorted(alone))} without that)"
    if left and left <= REUSE:
        return "f", f"{' '.join(sorted(left))}, and no launch in the log reuses the block unordered"
    return "?", " ".join(sorted(left)) or "the plan does not need it"


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
    request = Request(schedule(name), engine, 2, 2, instead=TINY[name])
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
            stream = found.program.streams[found.program.steps[sync.step].stream].name
            yield name, engine, f"{sync.text} on {stream}", *classify(setting, text, sync)


def main() -> None:
    for name in sys.argv[1:]:
        for engine in ("npugraph_ex", "npu"):
            rows = list(
                removals(name, engine)
            )  # what the user's model prints goes to stderr, and so would ours meanwhile
            for row in rows:
                print("RESULT" + json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
