"""The engine that needs no device: the plan's ops on the CPU, in orders that its happens-before allows."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch._export.utils import _compiling_state_context

from streamsched.codegen.emitter import generate
from streamsched.dsl.program.steps import Program
from streamsched.dsl.trace.tracing.collectives import copy_model
from streamsched.dsl.trace.tracing.containers import tensors
from streamsched.verify.causes import in_words
from streamsched.verify.compare import differences
from streamsched.verify.generated import load_generated
from streamsched.verify.instances import said
from streamsched.verify.interpreter import Interpreter
from streamsched.verify.live import Live, State
from streamsched.verify.orders import StreamOrder, orders
from streamsched.verify.parts import Part, parts_of
from streamsched.verify.request import Request
from streamsched.verify.samples import Sample
from streamsched.verify.sizes import dims_of
from streamsched.verify.tasks import tasks_of
from streamsched.verify.unsupported import original_raises
from streamsched.verify.verdict import CannotRunError, Difference, Failure, Verdict, traceback_of

GENERATED = "the generated forward"

PLAN = "the ops of the trace"


def verify_on_cpu(programs: Sequence[Program], live: Live, request: Request) -> Verdict:
    """Hold the generated forwards against the original, and each plan under many orders against the serial one.

    All comparisons are bit for bit. The orders run the ops of the trace; where the user's Python runs others on a CPU
    than were traced, the first comparison still sees it. Of a plan for the modules in scope, some modules run under the
    orders, with the arguments that the model calls them with. Raises `CannotRunError`.
    """
    seeds = [request.seed + call for call in range(request.calls)]
    samples = [live.sample(seed, live.sizes(dims_of(programs), seed)) for seed in seeds]
    chosen = orders(request.orders, request.seed)
    found: list[Difference] = []
    failed: list[Failure] = []
    with torch.no_grad(), _as_traced(programs):
        try:
            found += _generated([generate(program, "cpu") for program in programs], live, samples)
        except CannotRunError:
            raise
        except Exception as error:
            failed.append(Failure.of(GENERATED, error))
        for program in programs:
            assert program.trace is not None
            for part in parts_of(program.trace, live, samples):
                under_orders(program, part, chosen, found, failed)
    several = "s" * (len(programs) > 1)
    notes = [note for program in programs if program.trace is not None for note in said(program.trace, live.model)]
    return Verdict(
        "cpu",
        f"the ops of the plan{several} against the same ops in program order, and the forward{several} generated for "
        "cpu against the original, bit for bit",
        tuple(order.name for order in chosen),
        request.calls,
        tuple(found),
        tuple(failed),
        notes=tuple(notes),
    )


@contextlib.contextmanager
def _as_traced(programs: Sequence[Program]) -> Iterator[None]:
    """Where a graph of the whole model is what the modules in scope run in, have it believe that it is being compiled.

    What a model gives its modules may depend on that: transformers' models leave masks out where nothing is compiled.
    """
    compiled = any(p.inside_graph and p.trace is not None and p.trace.scope is not None for p in programs)
    with _compiling_state_context() if compiled else contextlib.nullcontext():
        yield


def under_orders(
    program: Program, part: Part, chosen: Sequence[StreamOrder], found: list[Difference], failed: list[Failure]
) -> None:
    """Add to `found` and `failed` where a module differs under the orders. Its buffers are left as the last call did.

    Raises `CannotRunError` where an op has no kernel.
    """
    start = State.of(part.module)
    try:
        reference = Interpreter(program, part.module, part.arguments).run_serially(part.inputs)
    except Exception as error:
        message = f"cannot run: an op of the trace raises on the CPU{part.label}: {in_words(error)}"
        raise CannotRunError(message, traceback_of(error)) from error
    for call, (output, expected) in enumerate(zip(reference, part.results, strict=bool(part.results))):
        found += _same_tensors(output, expected, f"{PLAN}{part.label}", call)
    tasks = tasks_of(program, len(part.inputs))
    for order in chosen:
        start.restore()
        try:
            outputs = Interpreter(program, part.module, part.arguments).run(tasks, order, part.inputs)
        except Exception as error:  # garbage may be anything, an index out of range too
            failed.append(Failure.of(f"{order.name}{part.label}", error))
            continue
        for call, (output, expected) in enumerate(zip(outputs, reference, strict=True)):
            found += differences(output, expected, f"{order.name}{part.label}", call)


def _same_tensors(output: Any, expected: Any, order: str, call: int) -> Iterator[Difference]:
    """Where the tensors of a trace's result differ from those that the module returned.

    The containers may be of other classes. An object in the result that holds tensors is the caller's to compare.
    """
    ours, theirs = tensors(output), tensors(expected)
    if len(ours) == len(theirs):
        yield from differences(ours, theirs, order, call)


def _generated(texts: Sequence[str], live: Live, samples: Sequence[Sample]) -> Iterator[Difference]:
    """Where the model with all forwards generated for `cpu` differs from the original, state and arguments included."""
    original, scheduled = copy_model(live.model), copy_model(live.model)
    for text in texts:
        load_generated(text)["apply"](scheduled, strict=True)
    for call, sample in enumerate(samples):
        args, kwargs = live.call(sample)
        torch.manual_seed(call)
        try:
            expected = original(*args, **kwargs)
        except Exception as error:
            raise original_raises(error, live.integers) from error
        ours, named = live.call(sample)
        torch.manual_seed(call)
        yield from differences(scheduled(*ours, **named), expected, GENERATED, call)
        yield from differences((ours, named), (args, kwargs), GENERATED, call, "argument")
    state, held = dict(scheduled.named_buffers()), dict(original.named_buffers())
    yield from differences(state, held, GENERATED, len(samples) - 1, "buffer")
