"""How long the search for collectives that exceed a device takes, against `python -c "import torch"`.

    python benchmarks/bench_resources.py

Programs of 10,000 kernels on 8 streams and on 32, with a record and a wait for every other kernel. Every kernel holds
cores, or one in five does, and three of five of these as collectives. Measured is the processor time of the clocks, the
stretches and the search, without a process or a trace, where the device has 48 cores, which are too few, and where it
has just enough, so that there is nothing to find. Exits with 1 if a target is missed.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from itertools import islice

from table import TORCH, Row, ratio, report, run

from streamsched.dsl.check.chains import Chains, Weight
from streamsched.dsl.check.overloads import MOST
from streamsched.dsl.diagnostic import Span
from streamsched.dsl.garbage import collector_off
from streamsched.dsl.program.clocks import clocks
from streamsched.dsl.program.steps import Program, Step, StepKind, Stream

OPS = 10_000
CORES = 48
RUNS = 5
STREAMS = (8, 32)
LIMIT = 0.15


def program(streams: int) -> Program:
    """A random program of `OPS` kernels."""
    draw = random.Random(streams)
    steps = [Step(StepKind.ENTRY, 0, "entry")]
    events = 0
    for number in range(OPS):
        steps.append(Step(StepKind.LAUNCH, draw.randrange(streams), f"op{number}"))
        if number % 2:
            before, after = draw.sample(range(streams), 2)
            steps.append(Step(StepKind.RECORD, before, "e", event=events))
            steps.append(Step(StepKind.WAIT, after, "e", event=events))
            events += 1
    made = (Stream("default"), *(Stream(f"s{number}") for number in range(1, streams)))
    span = Span("f", 1, 1, 1, 1)
    return Program("random", "npu", made, (), ("e",) * events, (), tuple(steps), (), span)


def weights(made: Program, share: float) -> list[Weight]:
    """What a share of the kernels weighs."""
    draw = random.Random(1)
    kernels = [index for index, step in enumerate(made.steps) if step.kind is StepKind.LAUNCH]
    held = [index for index in kernels if draw.random() < share]
    return [Weight(index, draw.choice([2, 4, 8, 16]), draw.random() < 0.6) for index in held]


def seconds(made: Program, held: list[Weight], cores: int) -> float:
    """The median processor time of a search."""
    times = []
    for _ in range(RUNS):
        with collector_off():
            start = time.process_time()
            list(islice(Chains(held, clocks(made)).waiting_over(cores), MOST))
            times.append(time.process_time() - start)
    return statistics.median(times)


def main() -> int:
    """Print the table."""
    run(TORCH)
    torch = statistics.median(run(TORCH).processor for _ in range(RUNS))
    rows = [Row("python -c 'import torch'", "", f"{torch:.2f} s")]
    for streams in STREAMS:
        made = program(streams)
        for share in (1.0, 0.2):
            held = weights(made, share)
            amounts = {weight.step: weight.amount for weight in held}
            enough = sum(amounts[step] for step in Chains(held, clocks(made)).over(0))
            for cores, what in ((CORES, "too few cores"), (enough, "just enough")):
                label = f"{streams} streams, {len(held):,} of {OPS:,} hold cores, {what}"
                rows.append(ratio(label, seconds(made, held, cores) / torch, LIMIT))
    return report(f"median processor time of {RUNS} searches, against import torch", rows)


if __name__ == "__main__":
    sys.exit(main())
