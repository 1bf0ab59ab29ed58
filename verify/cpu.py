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
from streamsched.verify.live import Live, State
from streamsched.verify.orders import orders
from streamsched.verify.request import Request
from streamsched.verify.samples import Sample
from streamsched.verify.tasks import tasks_of
from streamsched.verify.unsupported import original_raises
from streamsched.verify.verdict import CannotRunError, Difference, Failure, Verdict, in_words, traceback_of

GENERATED = "the generated forward"


def verify_on_cpu(program: Program, live: Live, request: Request) -> Verdict:
    """Hold the generated forward against the original, and the plan under many orders against the serial one.

    Both comparisons are bit for bit. The orders run the ops of the trace; where the user's Python runs others on a CPU
    than were traced, the first comparison still sees it. Raises `CannotRunError`.
    """
    model = live.model
    samples = [live.sample(request.seed + call) for call in range(request.calls)]
    inputs = [dict(zip(live.trace.inputs, sample, strict=True)) for sample in samples]
    chosen = orders(request.orders, request.seed)
    found: list[Difference] = []
    failed: list[Failure] = []
    with torch.no_grad():
        try:
            found += _generated(program, live, samples)
        except CannotRunError:
            raise
        except Exception as error:
            failed.append(Failure.of(GENERATED, error))
        start = State.of(model)
        try:
            reference = Interpreter(program, model).run_serially(inputs)
        except Exception as error:
            message = f"cannot run: an op of the trace raises on the CPU: {in_words(error)}"
            raise CannotRunError(message, traceback_of(error)) from error
        tasks = tasks_of(program, request.calls)
        for order in chosen:
            start.restore()
            try:
                outputs = Interpreter(program, model).run(tasks, order, inputs)
            except Exception as error:  # garbage may be anything, an index out of range too
                failed.append(Failure.of(order.name, error))
                continue
            for call, (output, expected) in enumerate(zip(outputs, reference, strict=True)):
                found += differences(output, expected, order.name, call)
    return Verdict(
        "cpu",
        "the ops of the plan against the same ops in program order, and the forward generated for cpu against the "
        "original, bit for bit",
        tuple(order.name for order in chosen),
        request.calls,
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
            raise original_raises(error) from error
        args, kwargs = live.call(sample)
        torch.manual_seed(call)
        yield from differences(scheduled(*args, **kwargs), expected, GENERATED, call)
