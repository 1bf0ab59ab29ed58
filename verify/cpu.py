"""The engine that needs no device: the plan's ops on the CPU, in orders that its happens-before allows."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import torch

from streamsched.codegen.emitter import generate
from streamsched.dsl.program.steps import Program
from streamsched.verify.compare import differences
from streamsched.verify.generated import load_generated
from streamsched.verify.interpreter import Interpreter
from streamsched.verify.live import Live, Sample, State
from streamsched.verify.orders import orders
from streamsched.verify.samples import sample_inputs
from streamsched.verify.tasks import tasks_of
from streamsched.verify.verdict import Difference, Failure, Verdict

GENERATED = "the generated forward"


class OriginalError(Exception):
    """The original itself cannot be run."""


def verify_on_cpu(program: Program, live: Live, calls: int, random_orders: int, seed: int) -> Verdict:
    """Hold the generated forward against the original, and the plan under many orders against the serial one.

    Both comparisons are bit for bit. The orders run the ops of the trace; where the user's Python runs others on a CPU
    than were traced, the first comparison still sees it. Raises `OriginalError`.
    """
    model = live.model
    samples = [sample_inputs(live.trace, seed + call) for call in range(calls)]
    chosen = orders(random_orders, seed)
    found: list[Difference] = []
    failed: list[Failure] = []
    with torch.no_grad():
        try:
            found += _generated(program, live, samples)
        except OriginalError:
            raise
        except Exception as error:
            failed.append(Failure(GENERATED, _words(error)))
        start = State.of(model)
        reference = Interpreter(program, model).run_serially(samples)
        tasks = tasks_of(program, calls)
        for order in chosen:
            start.restore()
            try:
                outputs = Interpreter(program, model).run(tasks, order, samples)
            except Exception as error:  # garbage may be anything, an index out of range too
                failed.append(Failure(order.name, _words(error)))
                continue
            for call, (output, expected) in enumerate(zip(outputs, reference, strict=True)):
                found += differences(output, expected, order.name, call)
    return Verdict(
        "cpu",
        "the ops of the plan against the same ops in program order, and the forward generated for cpu against the "
        "original, bit for bit",
        tuple(order.name for order in chosen),
        calls,
        tuple(found),
        tuple(failed),
    )


def _generated(program: Program, live: Live, samples: list[Sample]) -> Iterator[Difference]:
    """Where the forward generated for `cpu` differs from the original."""
    namespace = load_generated(generate(program, "cpu"))
    original, scheduled = copy.deepcopy(live.model), namespace["apply"](copy.deepcopy(live.model), strict=True)
    for call, sample in enumerate(samples):
        args, kwargs = live.call(sample)
        torch.manual_seed(call)
        try:
            expected = original(*args, **kwargs)
        except Exception as error:
            raise OriginalError(f"the original forward raises on random inputs: {_words(error)}") from error
        args, kwargs = live.call(sample)
        torch.manual_seed(call)
        yield from differences(scheduled(*args, **kwargs), expected, GENERATED, call)


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]
