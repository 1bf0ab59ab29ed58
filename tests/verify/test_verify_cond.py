"""`torch.cond` is printed with its branches as functions, and runs like the original; no graph may capture it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from modelled import plan_model

from streamsched.codegen.emitter import generate
from streamsched.dsl.pipeline import load
from streamsched.dsl.trace.model import COND, Branch
from streamsched.verify.generated import load_generated
from streamsched.verify.request import Request
from streamsched.verify.run import verify

MODEL = """
class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(8, 8)

    def forward(self, x, p):
        def grow(y):
            return self.up(y) + x, y.sin()

        def shrink(x):
            return x.cos(), x.clone()

        h = x * 2
        first, second = torch.cond(p.sum() > 0, grow, shrink, (h,))
        return first + second


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.part, self.down = Part(), nn.Linear(8, 8)

    def forward(self, x, p):
        def true_fn(x):
            def deep(z):
                z = z.clone()
                z.add_(1)
                return z

            return torch.cond(x.mean() > 0, deep, lambda z: z.exp(), (x,))

        def false_fn(x):
            return self.down(x) + torch.arange(8, device=x.device)

        def put(x):
            x.add_(1)
            return x * 2, x.cos()

        side = torch.cond(p[0] > 0, true_fn, false_fn, (x,))
        best = torch.cond(p[1] > 0, lambda q: q.max(-1)[0], lambda q: q.sum(-1), (side,))
        q = side * 3
        third, _ = torch.cond(p[2] > 0, put, lambda x: (x, x.sin()), (q,))
        return self.part(side, p) + best[:, None] + third * q
"""

SCHEDULE = """
    input x: f32[2, 8]
    input p: f32[3]
    target {}
    stream left
    value "side" on left
    sync auto
"""

FUNCTIONS = """\
        def true_fn(x):
            mean = x.mean()
            gt = mean > 0

            def true_fn_1(x):
                clone = x.clone()
                clone.add_(1)
                return clone

            def false_fn(x):
                return torch.exp(x)

            return torch.cond(gt, true_fn_1, false_fn, [x])

        def false_fn_1(x):
            linear = F.linear(x, self.down.weight, self.down.bias)
            arange = torch.arange(8, device=x.device)
            return linear + arange

        side = torch.cond(p[0] > 0, true_fn, false_fn_1, [x])
"""


def test_branches_stand_before_the_call(tmp_path: Path) -> None:
    text = generate(plan_model(tmp_path, MODEL, SCHEDULE.format("cuda")), "cuda")
    assert FUNCTIONS in text
    assert "    third, _ = torch.cond(p[2] > 0, put, false_fn_3, [q])\n" in text
    assert "self.part(side, p)" in text, "a call that holds a cond is folded as any other"
    path = tmp_path / "generated.py"
    path.write_text(text, encoding="utf-8")
    for verb in (("format", "--check"), ("check",)):
        command = [sys.executable, "-m", "ruff", *verb, "--isolated", str(path)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize("compiled", [False, True])
def test_numbers_are_those_of_the_original(tmp_path: Path, compiled: bool) -> None:
    program = plan_model(tmp_path, MODEL, SCHEDULE.format("cpu"))
    source: dict[str, Any] = {}
    exec((tmp_path / "model.py").read_text(), source)
    torch.manual_seed(0)
    original, scheduled = source["Model"]().eval(), source["Model"]().eval()
    scheduled.load_state_dict(original.state_dict())
    load_generated(generate(program, "cpu"))["apply"](scheduled, strict=True)
    run = torch.compile(scheduled, fullgraph=True, backend="eager") if compiled else scheduled
    with torch.no_grad():
        for signs in ((1, 1, 1), (-1, -1, -1), (1, -1, 1)):
            x, p = torch.randn(2, 8), torch.tensor(signs) * torch.rand(3)
            assert torch.equal(run(x, p), original(x, p))


def test_verify_runs_the_branches(tmp_path: Path) -> None:
    plan_model(tmp_path, MODEL, SCHEDULE.format("cpu"))
    loaded = load(str(tmp_path / "test.sched"))
    verdict = verify(loaded, Request("", orders=2))
    assert not isinstance(verdict, tuple), verdict
    assert verdict.agrees, (verdict.failures, verdict.differences)
    assert loaded.program is not None and loaded.program.trace is not None
    trace = loaded.program.trace
    place = next(index for index, op in enumerate(trace.ops) if op.target == COND)
    op = trace.ops[place]
    first, second = (each for each in op.args if isinstance(each, Branch))
    swapped = replace(op, args=(op.args[0], second, first, op.args[-1]))
    wrong = replace(trace, ops=(*trace.ops[:place], swapped, *trace.ops[place + 1 :]))
    verdict = verify(replace(loaded, program=replace(loaded.program, trace=wrong)), Request("", orders=2))
    assert not isinstance(verdict, tuple) and not verdict.agrees


def test_the_host_reads_the_predicate_which_no_capture_may(tmp_path: Path) -> None:
    plan_model(tmp_path, MODEL, SCHEDULE.format("npu"))
    path = str(tmp_path / "test.sched")
    assert [d.code for d in load(path, target="npugraph_ex").diagnostics].count("CAP103") == 4
    assert "CAP103" not in [d.code for d in load(path).diagnostics]
