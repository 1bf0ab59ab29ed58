"""TGT, ops: what a graph cannot hold."""

from __future__ import annotations

from dataclasses import replace

from streamsched.dsl.check.registry import check
from streamsched.dsl.diagnostic import Severity
from streamsched.dsl.program.steps import StepKind
from streamsched.dsl.trace.model import Literal, ModuleCall, Op, OpKind, Trace

TEXT = """
    entry x w
    default product: x w -> y
    exit y
"""


def grouped_mm_findings(program, target_op):
    op = Op("product", target_op, OpKind.KERNEL, (), (), Literal("None"), (), (), 0)
    call = ModuleCall("", 0, "", "model:M", -1, 0, 1, (), (), Literal("None"))
    trace = Trace((), "", "", "model:M", (), (), Literal("None"), (op,), (), (), (call,), (), (), (), ())
    return [d for d in check(replace(program, trace=trace)) if d.code == "TGT120"]


def test_grouped_mm(build):
    [found] = grouped_mm_findings(build(TEXT, target="npugraph_ex"), "aten._grouped_mm.default")
    assert found.severity is Severity.ERROR
    assert found.message == (
        "`product` on `default` is `torch._grouped_mm`, which copies its group offsets to the host"
    )
    assert found.notes == ("the capture fails with 107027",)
    assert found.help is not None and 'experts_implementation="batched_mm"' in found.help


def test_other_products_and_targets(build):
    assert grouped_mm_findings(build(TEXT, target="npugraph_ex"), "aten.bmm.default") == []
    assert grouped_mm_findings(build(TEXT, target="npu"), "aten._grouped_mm.default") == []


def test_once_for_the_ops_of_one_statement(build):
    twice = TEXT.replace("exit y", "default product_1: y w -> z\n    exit z")
    program = build(twice, target="npugraph_ex")
    steps = [replace(s, op=i, source=None) for i, s in enumerate(s for s in program.steps if s.kind is StepKind.LAUNCH)]
    launches = iter(steps)
    program = replace(program, steps=tuple(next(launches) if s.kind is StepKind.LAUNCH else s for s in program.steps))
    ops = tuple(
        Op(step.name, "aten._grouped_mm.default", OpKind.KERNEL, (), (), Literal("None"), (), (), 0) for step in steps
    )
    call = ModuleCall("", 0, "", "model:M", -1, 0, len(ops), (), (), Literal("None"))
    trace = Trace((), "", "", "model:M", (), (), Literal("None"), ops, (), (), (call,), (), (), (), ())
    [found] = [d for d in check(replace(program, trace=trace)) if d.code == "TGT120"]
    assert found.notes[1] == "the same statement launches 1 more of them"
