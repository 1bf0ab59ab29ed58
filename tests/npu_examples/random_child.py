"""Random schedules over random small models: `random_child.py COUNT` runs that many, compiled and eager in turn."""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tiny import forget_modules

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.pipeline import load, trace_request
from streamsched.verify.device import verify_on_device
from streamsched.verify.devices import device_of
from streamsched.verify.live import live
from streamsched.verify.render import render
from streamsched.verify.request import Request

MODEL = """\
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(8, 8))

    def forward(self, x, y):
        weight = self.weight
"""

PURE = ("torch.mm({a}, {b})", "{a} + {b}", "torch.relu({a})", "{a} * {b}", "{a}.t()", "torch.softmax({a}, -1)")
IN_PLACE = ("{a}.add_({b})", "{a}.mul_(0.5)")


@dataclass(frozen=True)
class Case:
    """A model's text and a schedule's, without its first line."""

    model: str
    schedule: str


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Up to ten ops in a row on 8 x 8 tensors, in place on what earlier ones made, on up to three side streams."""
    known = ["x", "y", "weight"]
    lines: list[str] = []
    made: list[str] = []
    for number in range(draw(st.integers(3, 10))):
        in_place = made and draw(st.integers(0, 4)) == 0
        op = draw(st.sampled_from(IN_PLACE if in_place else PURE))
        target = draw(st.sampled_from(made if in_place else known))
        lines.append(f"        v{number} = {op.format(a=target, b=draw(st.sampled_from(known)))}")
        if not in_place and not op.endswith(".t()"):
            made.append(f"v{number}")
        known.append(f"v{number}")
    outputs = draw(st.lists(st.sampled_from(known[3:]), min_size=1, max_size=3, unique=True))
    model = MODEL + "\n".join([*lines, f"        return {', '.join(outputs)}"]) + "\n"
    first = MODEL.count("\n") + 1
    ops = [f'line "model.py:{line}"' for line in range(first, first + len(lines))]
    return Case(model, draw(_schedules(ops)))


@st.composite
def _schedules(draw: st.DrawFn, ops: list[str]) -> str:
    """Each op on a stream, and some edges from earlier ops to later ones. `ops` are selectors."""
    sides = [f"s{number}" for number in range(1, draw(st.integers(1, 3)) + 1)]
    streams = {op: draw(st.sampled_from(["default", *sides])) for op in ops}
    lines = ['model "model.py:Model"', "input x, y: f32[8, 8]", "sync auto", f"stream {', '.join(sides)}"]
    lines += [f"{op} on {stream}" for op, stream in streams.items() if stream != "default"]
    for _ in range(draw(st.integers(0, 2))):
        ends = draw(st.lists(st.integers(0, len(ops) - 1), min_size=2, max_size=2, unique=True))
        lines.append(f"{ops[min(ends)]} -> {ops[max(ends)]}")
    return "\n".join(lines) + "\n"


@dataclass
class Tally:
    """What became of the cases."""

    agreed: int = 0
    refused: int = 0
    seed: int = 0


def run(case: Case, engine: str, tally: Tally) -> None:
    """Verify one case; one that lint refuses (an edge from a view, say) counts apart."""
    forget_modules()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "model.py").write_text(case.model, encoding="utf-8")
        path = Path(folder, "random.sched")
        path.write_text(f"schedule random\n{case.schedule}", encoding="utf-8")
        found = load(str(path), target=engine)
        if found.failed or found.program is None or found.trace is None:
            tally.refused += 1
            return
        request = Request(str(path), engine, orders=3, calls=2, seed=tally.seed)
        device = device_of(request)
        with live(trace_request(found.schedule, found.file.base), request) as alive:
            assert not isinstance(alive, Diagnostic), alive
            verdict = verify_on_device(found.program, alive, request, device)
        assert verdict.agrees, f"{render(verdict)}\n{case.model}\n{case.schedule}"
        tally.agreed += 1


def main() -> None:
    count = int(sys.argv[1])
    tally = Tally()

    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases())
    def every_case(case: Case) -> None:
        run(case, ("npugraph_ex", "npu")[tally.seed % 2], tally)
        tally.seed += 1

    every_case()
    print("RESULT" + json.dumps([tally.agreed, tally.refused]))


if __name__ == "__main__":
    main()
