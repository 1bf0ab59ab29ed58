"""What a generated forward costs the host: against the original, on models so small that Python is all that counts.

    python benchmarks/bench_host.py

Target `cpu`, one thread, processor time, the checks of the call included. The two take turns; each ratio is the median
of many. Exits with 1 if a target is missed.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path
from typing import Any

import torch
from table import Row, ratio, report

from streamsched.codegen.emitter import generate
from streamsched.dsl.pipeline import load, trace_request
from streamsched.verify.generated import load_generated
from streamsched.verify.live import Live, live
from streamsched.verify.request import Request

EXAMPLES = Path(__file__).parents[1] / "examples"
TINY = {
    "deepseek_moe": ('model "model.py:tiny"', "input hidden_states: bf16[1, 1, 64]"),
    "deepseek_v3": ('model "model.py:tiny"',),
    "qwen3_moe": ('model "model.py:tiny"',),
    "llama_decode": ('model "model.py:tiny"', 'inputs from "model.py:decode_tiny"'),
    "two_tower": ('model "model.py:tiny"', "input user_ids: i64[1, 16], item_ids: i64[1, 16]"),
}
ROUNDS, CALLS = 60, 5


def seconds(model: torch.nn.Module, calls: list[tuple[Any, Any]]) -> float:
    """The processor time of calls in a row."""
    start = time.process_time()
    for args, kwargs in calls:
        model(*args, **kwargs)
    return time.process_time() - start


def compared(name: str) -> tuple[float, float]:
    """Milliseconds of the original's call, and how much longer the generated one takes."""
    path = str(EXAMPLES / name / f"{name}.sched")
    loaded = load(path, target="cpu", instead=TINY[name])
    assert loaded.program is not None and loaded.trace is not None, loaded.diagnostics
    file = load_generated(generate(loaded.program, "cpu"))
    wanted = trace_request(loaded.schedule, loaded.file.base)
    with live(wanted, Request(path)) as alive, torch.no_grad():
        assert isinstance(alive, Live), alive
        model, sample = alive.model, alive.sample(0)
        times: dict[bool, list[float]] = {False: [], True: []}
        for turn in range(2 * ROUNDS + 4):
            scheduled = turn % 2 == 1
            if scheduled:
                file["apply"](model, strict=True)
            took = seconds(
                model, [alive.call(sample) for _ in range(CALLS)]
            )  # a call may fill a cache: each has its own
            if scheduled:
                file["unapply"](model)
            if turn >= 4:  # the first calls warm up
                times[scheduled].append(took)
    ratios = [mine / its for mine, its in zip(times[True], times[False], strict=True)]
    return 1000 * statistics.median(times[False]) / CALLS, statistics.median(ratios)


def main() -> int:
    """Print the table."""
    torch.set_num_threads(1)
    rows: list[Row] = []
    for name in TINY:
        milliseconds, factor = compared(name)
        rows += [Row(f"{name}, original", "", f"{milliseconds:.2f} ms"), ratio("  generated against it", factor, 1.05)]
    return report(f"one call, host time; median of {ROUNDS} ratios", rows)


if __name__ == "__main__":
    sys.exit(main())
