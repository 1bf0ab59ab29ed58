"""Eager runs under torch_npu's own sanitizer: `sanitizer_child.py EXAMPLE...`; the environment switches it on."""

from __future__ import annotations

import gc
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import torch_npu  # noqa: F401  (it adds torch.npu)
from syncs import freed_early, times
from tiny import ALL, forget_modules, schedule
from torch.cuda._sanitizer import AccessType, CUDASanitizerErrors, UnsynchronizedAccessError
from torch.utils._python_dispatch import TorchDispatchMode
from torch_npu.npu._sanitizer import npu_sanitizer

from streamsched.codegen.emitter import generate
from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.pipeline import Loaded, load, load_parsed, trace_request
from streamsched.dsl.plan.planner import plan
from streamsched.verify.device import bound
from streamsched.verify.devices import device_of
from streamsched.verify.live import Live, live
from streamsched.verify.request import Request

PLANTED = {
    schedule("multi_stream"): ("B_done.wait()", "B.record_stream(stream1)"),
    str(Path(__file__).parent / "overwritten" / "overwritten.sched"): (
        "shared_done.wait()",
        "doubled_done.wait()",
        "shared_done_2.wait()",
    ),
}
"""For each schedule the lines of its generated forward that are taken out, one at a time."""

NPU: Any = vars(torch)["npu"]


class KeepEmpty(TorchDispatchMode):
    """Keeps every tensor without memory alive.

    The sanitizer tells tensors apart by their addresses, and those without memory by their `id`s. Python gives the `id`
    of a tensor that died to a new one; when that is made on another stream, the sanitizer takes both for one tensor and
    reports a race. A batch norm makes a tensor like that.
    """

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[torch.Tensor] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and result.numel() == 0:
            self.kept.append(result)
        return result


def kind(race: UnsynchronizedAccessError) -> str:
    """Which dependency is not ordered: RAW, WAR or WAW."""
    current, previous = ("R" if x.type is AccessType.READ else "W" for x in (race.current_access, race.previous_access))
    return f"{current}A{previous}"


def reported(text: str, alive: Live, request: Request) -> list[str]:
    """What the sanitizer says of two calls of the generated file `text`: races, with which it stops the forward, and
    blocks whose record_stream it misses."""
    gc.collect()  # what came before must not be freed in between
    missing = npu_sanitizer.event_handler.record_stream_errors
    missing.clear()
    races: list[str] = []
    subject = bound(text, alive, request, device_of(request))
    given = [alive.call(alive.sample(call), "npu") for call in range(2)]
    NPU.synchronize()
    with KeepEmpty():
        try:
            for args, kwargs in given:
                subject.forward(*args, **kwargs)
        except CUDASanitizerErrors as found:
            races += [kind(race) for race in found.errors]
            NPU.set_stream(NPU.default_stream())
    gc.collect()
    NPU.synchronize()
    return races + ["missing record_stream"] * len(missing)


def planned(path: str, *instead: str) -> Loaded:
    """The schedule at `path` for eager runs, with some statements instead of its own."""
    forget_modules()
    found = load(path, target="npu", instead=instead)
    assert not found.failed, found.diagnostics
    return found


def reports(found: Loaded, *left_out: str) -> list[list[str]]:
    """What is reported of a generated forward, and of the same without each of the lines `left_out`."""
    assert found.program is not None and found.trace is not None
    text = generate(found.program, "npu")
    assert all(text.count(f" {line}") == 1 for line in left_out), text
    request = Request(found.file.path, "npu")
    with live(trace_request(found.schedule, found.file.base), request) as alive, torch.no_grad():
        assert not isinstance(alive, Diagnostic), alive
        texts = [text, *(text.replace(f" {line}", " pass") for line in left_out)]
        return [reported(each, alive, request) for each in texts]


def example(name: str) -> dict[str, Any]:
    """How many blocks a call frees ahead of the wait that makes them safe, and what is reported, by memory setting."""
    proved = planned(schedule(name), *ALL[name], "memory auto")
    assert proved.program is not None and proved.trace is not None
    recording = load_parsed(proved.file.path, instead=(*ALL[name], "memory record_stream")).schedule
    recorded = replace(proved, program=plan(recording, proved.trace, proved.file.base, "npu").program)
    early = freed_early(proved.program) * times(proved.program)
    return {"early": early, "auto": reports(proved)[0], "record_stream": reports(recorded)[0]}


def empty_on_two_streams() -> list[str]:
    """What is reported of tensors without memory that are made on two streams in turn, each when the last is dead."""
    streams = NPU.Stream(), NPU.Stream()
    try:
        for number in range(100):
            with NPU.stream(streams[number % 2]):
                torch.empty(0, device="npu")
    except CUDASanitizerErrors as found:
        NPU.set_stream(NPU.default_stream())
        return [kind(race) for race in found.errors]
    return []


def main() -> None:
    planted = {}
    for path, lines in PLANTED.items():
        told = reports(planned(path), *lines)
        planted[Path(path).stem] = dict(zip(("", *lines), told, strict=True))
    with KeepEmpty():
        kept = empty_on_two_streams()
    results = {
        "examples": {name: example(name) for name in sys.argv[1:]},
        "planted": planted,
        "empty": {"kept": kept, "dropped": empty_on_two_streams()},
    }
    print("RESULT" + json.dumps(results), flush=True)


if __name__ == "__main__":
    main()
