"""TGT, ops: what an operator of torch_npu does that a graph cannot hold."""

from __future__ import annotations

from collections.abc import Iterator

from streamsched.dsl.check.describe import on_stream, placement, related
from streamsched.dsl.check.facts import Facts
from streamsched.dsl.check.target_steps import is_npugraph_ex
from streamsched.dsl.diagnostic import Diagnostic, Severity, Span
from streamsched.dsl.program.steps import Program, Step, StepKind
from streamsched.dsl.rule import rule
from streamsched.dsl.trace.model import NONE

_GROUPED_MM = "aten._grouped_mm"


@rule("TGT120", "grouped-mm-in-graph", Severity.ERROR)
def grouped_mm_in_graph(facts: Facts) -> Iterator[Diagnostic]:
    """npugraph_ex: `torch._grouped_mm` reads its group offsets on the host, which no capture allows.

    torch_npu copies the offsets to the host before it launches the product, so that the capture fails with 107027.
    Eagerly it works, and the host waits each time. The experts of transformers' MoE models use it by default.

    Example:

        model = AutoModelForCausalLM.from_config(config)

    Use instead experts as batched products, or torch_npu's own operator, which reads the offsets on the device:

        model = AutoModelForCausalLM.from_config(config, experts_implementation="batched_mm")

    References: seen on torch_npu 2.13.0 with torch 2.13.0 and transformers 5.24.0; torch_npu.npu_grouped_matmul.
    """
    program = facts.program
    if not is_npugraph_ex(facts):
        return
    found: dict[Span | None, list[int]] = {}  # by statement: a model runs it once for each layer
    for index in facts.of(StepKind.LAUNCH):
        step = program.steps[index]
        if _target(program, step).startswith(_GROUPED_MM):
            found.setdefault(step.source, []).append(index)
    for first, *others in found.values():
        more = (f"the same statement launches {len(others)} more of them",) if others else ()
        yield grouped_mm_in_graph.diagnostic(
            placement(program, first),
            f"{on_stream(program, first)} is `torch._grouped_mm`, which copies its group offsets to the host",
            related=related(program, (first, "launched here")),
            notes=("the capture fails with 107027", *more),
            help='build a transformers model with `experts_implementation="batched_mm"`, '
            "or call `torch_npu.npu_grouped_matmul`",
        )


def _target(program: Program, step: Step) -> str:
    """The operator that a kernel runs; a recorded one has only its name."""
    if program.trace is None or step.op == NONE:
        return f"aten.{step.name}"
    return program.trace.ops[step.op].target


RULES = (grouped_mm_in_graph,)
