"""`torch.cond` is one op of a trace, with its branches as functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from streamsched.dsl.diagnostic import Span
from streamsched.dsl.trace.export import Traced
from streamsched.dsl.trace.model import COND, Branch, Literal, Op, Ref, Sequence, StorageKind, Trace, refs
from streamsched.dsl.trace.request import LeafRequest, ScopeRequest
from streamsched.dsl.trace.store import digest, load, save

SPAN = Span("", 1, 1, 1, 1)
Attempt = Callable[..., Traced]
Tracing = Callable[..., Trace]


def model(body: str) -> str:
    return f"""
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.up = nn.Linear(4, 4)
            self.register_buffer("scale", torch.ones(4))

        def forward(self, x, p):
{body}
    """


PICK = model(
    """
            def grow(y):
                return self.up(y) + x, y.sin()

            def shrink(z):
                return z * self.scale, z.cos()

            h = x * 2
            first, second = torch.cond(p.sum() > 0, grow, shrink, (h,))
            return first + second
"""
)


def cond(trace: Trace) -> Op:
    (op,) = [op for op in trace.ops if op.target == COND]
    return op


def branches(op: Op) -> tuple[Branch, Branch]:
    when, otherwise = op.args[1:3]
    assert isinstance(when, Branch) and isinstance(otherwise, Branch)
    return when, otherwise


def names(trace: Trace, storages: tuple[int, ...]) -> set[str]:
    return {trace.storages[index].name for index in storages}


def test_one_op_reads_all_operands_and_writes_its_results(traced: Tracing) -> None:
    trace = traced(PICK, x=(2, 4), p=(3,))
    op = cond(trace)
    operands = op.args[3]
    assert isinstance(operands, Sequence)
    spelled = [trace.values[value].expression or trace.values[value].local for value in refs(operands)]
    assert sorted(spelled) == ["h", "self.scale", "self.up.bias", "self.up.weight", "x"]
    predicate = op.args[0]
    assert isinstance(predicate, Ref) and trace.values[predicate.value].name == "gt"
    read = {index for index, value in enumerate(trace.values) if set(value.storages) & set(op.reads)}
    assert read == {*refs(operands), predicate.value}
    made = [trace.values[value] for value in refs(op.result)]
    assert [value.local for value in made] == ["first", "second"]
    host = next(i for i, storage in enumerate(trace.storages) if storage.kind is StorageKind.HOST)
    assert set(op.writes) == {host, *(storage for value in made for storage in value.storages)}
    assert op.host_sync and not op.random
    assert trace.statements[op.statement].binds == ("first", "second")
    assert [op.name for op in trace.ops] == ["mul", "sum_1", "gt", "cond", "add"]


def test_branches_are_functions_of_the_operands(traced: Tracing) -> None:
    trace = traced(PICK, x=(2, 4), p=(3,))
    when, otherwise = branches(cond(trace))
    assert (when.name, otherwise.name) == ("grow", "shrink")
    assert [op.target for op in when.ops] == ["aten.linear.default", "aten.add.Tensor", "aten.sin.default"]
    assert [op.target for op in otherwise.ops] == ["aten.mul.Tensor", "aten.cos.default"]
    assert "y" in [value.name for value in when.values[: when.parameters]]
    assert "z" in [value.name for value in otherwise.values[: otherwise.parameters]]
    assert len(trace.calls) == 1, "what a branch calls is part of the op"


def test_saved_and_loaded(traced: Tracing, tmp_path: Path) -> None:
    trace = traced(PICK, x=(2, 4), p=(3,))
    save(trace, tmp_path / "trace.json.gz")
    assert load(tmp_path / "trace.json.gz", SPAN).trace == trace
    op = cond(trace)
    when, otherwise = branches(op)
    swapped = replace(op, args=(op.args[0], otherwise, when, op.args[3]))
    other = replace(trace, ops=tuple(swapped if each is op else each for each in trace.ops))
    assert digest(other) != digest(trace) == trace.digest


def test_a_branch_that_writes_an_operand(traced: Tracing) -> None:
    body = """
            h = x * 2
            torch.cond(p.sum() > 0, lambda y: y.add_(1) * 2, lambda y: y * 3, (h,))
            return h
"""
    trace = traced(model(body), x=(2, 4), p=(3,))
    assert "mul" in names(trace, cond(trace).writes)
    idle = traced(model(body.replace("y.add_(1)", "(y + 1)")), x=(2, 4), p=(3,))
    assert "mul" not in names(idle, cond(idle).writes)


def test_a_branch_that_returns_an_operand(traced: Tracing) -> None:
    body = """
            h = x * 2
            return torch.cond(p.sum() > 0, lambda y: y[:1], lambda y: y[1:] * 2, (h,))
"""
    trace = traced(model(body), x=(2, 4), p=(3,))
    op = cond(trace)
    assert isinstance(op.result, Ref)
    own, other = trace.values[op.result.value].storages
    assert names(trace, (own,)) == {"mul"} and other in op.writes and own not in op.writes


def test_a_random_branch(traced: Tracing) -> None:
    body = "            return torch.cond(p.sum() > 0, lambda y: torch.rand_like(y), lambda y: y * 2, (x,))"
    assert cond(traced(model(body), x=(2, 4), p=(3,))).random


def test_a_cond_in_a_branch(traced: Tracing) -> None:
    body = """
            def deep(y):
                return torch.cond(y.mean() > 0, lambda z: z + 1, lambda z: z - 1, (y,))

            return torch.cond(p.sum() > 0, deep, lambda y: y * 2, (x,))
"""
    when, _ = branches(cond(traced(model(body), x=(2, 4), p=(3,))))
    inner = when.ops[-1]
    assert [op.target for op in branches(inner)[0].ops] == ["aten.add.Tensor"]


@pytest.mark.parametrize("compiled", [True, False])
def test_a_branch_is_told_that_it_is_compiled(attempt: Attempt, compiled: bool) -> None:
    body = """
            def grow(y):
                return y + 1 if torch.compiler.is_compiling() else y - 1

            return torch.cond(p.sum() > 0, grow, lambda y: y * 2, (x,))
"""
    made = attempt(model(body), {"compiled": compiled}, x=(2, 4), p=(3,))
    assert made.trace is not None, made.diagnostics
    assert [op.target for op in branches(cond(made.trace))[0].ops] == ["aten.add.Tensor"]


def test_a_loop_in_a_branch_is_refused(attempt: Attempt) -> None:
    loop = "torch._higher_order_ops.while_loop(lambda y: y.sum() < 9, lambda y: (y * 2,), (y,))[0]"
    body = f"            return torch.cond(p.sum() > 0, lambda y: {loop}, lambda y: y * 2, (x,))"
    (found,) = attempt(model(body), x=(2, 4), p=(3,)).diagnostics
    assert found.code == "TRC108" and "`while_loop`" in found.message


def test_a_leaf_in_a_branch_is_refused(attempt: Attempt) -> None:
    body = "            return torch.cond(p.sum() > 0, lambda y: self.up(y), lambda y: y * 2, (x,))"
    made = attempt(model(body), {"leaves": (LeafRequest("up", SPAN),)}, x=(2, 4), p=(3,))
    assert made.trace is None
    assert [diagnostic.code for diagnostic in made.diagnostics] == ["TRC108"]


def test_a_predicate_on_a_dynamic_dim_is_refused(attempt: Attempt) -> None:
    body = "            return torch.cond(x.shape[0] > 4, lambda y: y + 1, lambda y: y * 2, (x,))"
    (found,) = attempt(model(body), x=("f32", ("batch", 4)), p=(3,)).diagnostics
    assert found.code == "TRC108" and "`cond`" in found.message


def test_a_dynamic_dim_in_a_branch(traced: Tracing) -> None:
    body = "            return torch.cond(p.sum() > 0, lambda y: y * y.shape[0], lambda y: y * 2, (x,))"
    when, _ = branches(cond(traced(model(body), x=("f32", ("batch", 4)), p=(3,))))
    assert when.ops[-1].args[1] == Literal("batch") and when.values[-1].shape == ("batch", 4)


def test_layers_in_scope_with_a_constant_of_their_own_in_a_branch(traced: Tracing) -> None:
    source = """
    class Block(nn.Module):
        def __init__(self, scale):
            super().__init__()
            self.up, self.scale = nn.Linear(4, 4), scale

        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda y: self.up(y) * self.scale, lambda y: y + 1, (x,))


    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([Block(0.5), Block(0.25)])

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x
    """
    trace = traced(source, {"scope": ScopeRequest("blocks.*", "", SPAN)}, x=(2, 4))
    when, _ = branches(cond(trace))
    assert trace.scope is not None and len(trace.scope.instances) == 2
    assert when.ops[-1].args[1] == Literal("self.scale")


def test_a_branch_reads_the_globals_of_its_own_file(traced: Tracing) -> None:
    """torch.compile remembers modules by name, and both models live in a module called `model`."""
    body = "            return torch.cond(p.sum() > 0, lambda y: SCALED(y), lambda y: y.cos(), (x,))"
    traced(model(body.replace("SCALED", "torch.sin")), x=(4,), p=(4,))
    trace = traced("    scaled = torch.tanh\n" + model(body.replace("SCALED", "scaled")), x=(4,), p=(4,))
    assert [op.target for op in branches(cond(trace))[0].ops] == ["aten.tanh.default"]
