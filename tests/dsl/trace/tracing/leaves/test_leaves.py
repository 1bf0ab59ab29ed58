"""Leaf modules: one op each, whatever they do inside."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from streamsched.dsl.diagnostic import Diagnostic, Span
from streamsched.dsl.trace.export import Traced
from streamsched.dsl.trace.model import LEAF, Instance, Op, Ref, StorageKind, Trace
from streamsched.dsl.trace.request import LeafRequest, ScopeRequest

AT = Span("test.sched", 4, 1, 4, 12)

Attempt = Callable[..., Traced]
Tracing = Callable[..., Trace]

LOOP = """
    class Loop(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(4, 4)

        def forward(self, x, limit):
            for row in (x.sum(-1) > limit).nonzero():
                x = x.index_add(0, row, self.proj(x[row]))
            return x

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.loop = Loop()

        def forward(self, x):
            y = self.loop(x * 2, limit=0.5)
            return y + 1
"""


def leaf(glob: str, *shape: str) -> dict[str, tuple[LeafRequest, ...]]:
    """The part of a request that says `leaf "GLOB"`."""
    return {"leaves": (LeafRequest(glob, AT, (shape[0], shape[1]) if shape else None),)}


def model(inside: str, call: str = "self.part(x)", init: str = "pass") -> str:
    """A model whose `part` is a module with that forward()."""
    return f"""
    class Part(nn.Module):
        def __init__(self):
            super().__init__()
            {init}

        def forward(self, x, *more):
            {inside}

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.part = Part()

        def forward(self, x):
            return {call}
    """


def leaf_ops(trace: Trace) -> list[Op]:
    return [op for op in trace.ops if op.target == LEAF]


def kinds(trace: Trace, storages: tuple[int, ...]) -> list[str]:
    return sorted(trace.storages[storage].kind.value for storage in storages)


def only(traced: Traced) -> Diagnostic:
    assert traced.trace is None
    (found,) = traced.diagnostics
    return found


def test_a_leaf_is_one_op_in_the_call_of_its_module(traced: Tracing) -> None:
    trace = traced(LOOP, leaf("loop", "torch", "empty_like"), x=(4, 4))
    assert [op.target for op in trace.ops] == ["aten.mul.Tensor", LEAF, "aten.add.Tensor"]
    (op,) = leaf_ops(trace)
    call = trace.calls[op.call]
    assert (call.path, call.accessor, call.end - call.begin) == ("loop", ".loop", 1)
    assert op.name == "loop"
    assert kinds(trace, op.reads) == ["op", "parameter", "parameter"]
    result = op.result
    assert isinstance(result, Ref)
    value = trace.values[result.value]
    assert (value.shape, value.local) == ((4, 4), "y")
    assert value.storages[0] in op.writes


def test_a_leaf_that_looks_at_data_makes_the_host_wait(traced: Tracing) -> None:
    (op,) = leaf_ops(traced(LOOP, leaf("loop", "torch", "empty_like"), x=(4, 4)))
    assert op.host_sync


def test_nothing_of_a_leaf_remains(traced: Tracing, attempt: Attempt) -> None:
    before = len(torch.library._defs)
    traced(LOOP, leaf("loop", "torch", "empty_like"), x=(4, 4))
    attempt(LOOP, leaf("loop"), x=(4, 4))
    assert len(torch.library._defs) == before
    with pytest.raises(AttributeError):
        torch.ops.streamsched_leaf.loop.default  # noqa: B018  # the look-up is what is tested


def test_a_leaf_without_a_function_runs_without_data(traced: Tracing) -> None:
    trace = traced(model("return x.relu() + 1, x.sum(-1)", "self.part(x)[1]"), leaf("part"), x=(4, 4))
    (op,) = leaf_ops(trace)
    assert not (op.random or op.host_sync)
    assert [trace.values[value].shape for value in trace.outputs()] == [(4,)]


@pytest.mark.parametrize("inside", ["x.add_(1); return x * 2", "x.view(-1).add_(1); return x * 2", "x += 1; return x"])
def test_an_argument_that_is_changed_in_place_is_written(traced: Tracing, inside: str) -> None:
    trace = traced(model(inside), leaf("part"), x=(4, 4))
    (op,) = leaf_ops(trace)
    assert "input" in kinds(trace, op.writes)


def test_an_argument_that_is_only_read_is_not_written(traced: Tracing) -> None:
    trace = traced(model("return x.clone().add_(1)"), leaf("part"), x=(4, 4))
    assert kinds(trace, leaf_ops(trace)[0].writes) == ["op"]


@pytest.mark.parametrize("inside", ["self.seen.add_(1); return x * 2", "self.seen = self.seen + 1; return x * 2"])
def test_a_buffer_that_is_changed_is_written(traced: Tracing, inside: str) -> None:
    source = model(inside, init="self.register_buffer('seen', torch.zeros(4))")
    trace = traced(source, leaf("part"), x=(4, 4))
    assert kinds(trace, leaf_ops(trace)[0].writes) == ["buffer", "op"]


def test_a_buffer_of_a_module_that_was_not_run_is_written(traced: Tracing) -> None:
    init = "self.register_buffer('seen', torch.zeros(4))"
    source = model("return x * self.seen if bool(x.sum() > 0) else x", init=init)
    trace = traced(source, leaf("part", "torch", "empty_like"), x=(4, 4))
    assert kinds(trace, leaf_ops(trace)[0].writes) == ["buffer", "host", "op"]


def test_a_leaf_that_draws_random_numbers(traced: Tracing) -> None:
    (op,) = leaf_ops(traced(model("return x + torch.rand_like(x)"), leaf("part"), x=(4, 4)))
    assert op.random


def test_a_leaf_that_returns_its_argument(traced: Tracing) -> None:
    trace = traced(model("x.add_(1); return x, x * 2"), leaf("part"), x=(4, 4))
    first, second = trace.outputs()
    assert trace.values[first].expression == "x"
    assert trace.storages[trace.values[second].storages[0]].kind is StorageKind.OP


def test_a_leaf_that_returns_a_view_of_its_argument(traced: Tracing) -> None:
    trace = traced(model("return x.view(-1)"), leaf("part"), x=(4, 4))
    (value,) = trace.outputs()
    assert kinds(trace, trace.values[value].storages) == ["input", "op"]


def test_a_leaf_that_returns_a_dataclass(traced: Tracing) -> None:
    pair = """
    from dataclasses import dataclass

    @dataclass
    class Pair:
        first: object
        second: object
    """
    source = pair + model("return Pair(x + 1, (x - 1, None))", "(lambda p: p.first * p.second[0])(self.part(x))")
    trace = traced(source, leaf("part"), x=(4, 4))
    (op,) = leaf_ops(trace)
    result = trace.calls[op.call].result
    assert isinstance(result, Instance) and result.fields == ("first", "second")


def test_modules_inside_of_a_leaf_are_not_seen(traced: Tracing) -> None:
    trace = traced(model("return self.inner(x)", init="self.inner = nn.Linear(4, 4)"), leaf("**"), x=(4, 4))
    assert [call.path for call in trace.calls] == ["", "part"]


def test_a_region_inside_of_a_leaf_is_not_seen(traced: Tracing) -> None:
    inside = "y = x\n            with torch.enable_grad():\n                y = x + 1\n            return y"
    trace = traced(model(inside), leaf("part"), x=(4, 4))
    assert [op.target for op in trace.ops] == [LEAF]


def test_a_leaf_called_twice(traced: Tracing) -> None:
    trace = traced(model("return x + 1", "self.part(self.part(x))"), leaf("part"), x=(4, 4))
    assert [trace.calls[op.call].label for op in leaf_ops(trace)] == ["part", "part@1"]


def test_a_function_of_the_users(traced: Tracing) -> None:
    source = model("return x[: int(x.sum())]") + "\n    def shape(x):\n        return x.new_empty(2, 4)\n"
    trace = traced(source, leaf("part", "model.py", "shape"), x=(4, 4))
    (value,) = trace.outputs()
    assert trace.values[value].shape == (2, 4)


# What is wrong


def test_a_leaf_that_matches_nothing(attempt: Attempt) -> None:
    found = only(attempt(LOOP, leaf("lop"), x=(4, 4)))
    assert (found.code, found.span) == ("SEL113", AT)
    assert found.help == "did you mean `loop`?"


def test_the_model_itself_is_no_leaf(attempt: Attempt) -> None:
    assert only(attempt(LOOP, leaf(""), x=(4, 4))).code == "SEL113"


def test_a_data_dependent_module_is_proposed_as_a_leaf(attempt: Attempt) -> None:
    found = only(attempt(LOOP, x=(4, 4)))
    assert found.code == "TRC107"
    assert found.fix is not None
    (edit,) = found.fix.edits
    assert edit.text == '\nleaf "loop" from "torch:empty_like"'
    assert found.fix.message == 'trace `loop` as one op: `leaf "loop" from "torch:empty_like"`'


def test_all_modules_of_the_class_are_proposed(attempt: Attempt) -> None:
    source = LOOP.replace("self.loop = Loop()", "self.loops = nn.ModuleList([Loop(), Loop()])")
    found = only(attempt(source.replace("self.loop(", "self.loops[1]("), x=(4, 4)))
    assert found.fix is not None
    assert found.fix.edits[0].text == '\nleaf "loops.*" from "torch:empty_like"'


def test_the_model_itself_is_not_proposed(attempt: Attempt) -> None:
    source = LOOP.replace("self.loop(x * 2, limit=0.5)", "x").replace("return y + 1", "return y if x.sum() > 0 else x")
    found = only(attempt(source, x=(4, 4)))
    assert (found.code, found.fix) == ("TRC107", None)


def test_a_leaf_that_needs_a_function(attempt: Attempt) -> None:
    found = only(attempt(LOOP, leaf("loop"), x=(4, 4)))
    assert (found.code, found.span) == ("TRC114", AT)
    assert found.fix is not None
    assert found.fix.edits[0].text == 'leaf "loop" from "torch:empty_like"'


def test_a_function_that_is_not_there(attempt: Attempt) -> None:
    found = only(attempt(LOOP, leaf("loop", "model.py", "shapes"), x=(4, 4)))
    assert (found.code, found.span) == ("TRC101", AT)


def test_a_function_that_raises(attempt: Attempt) -> None:
    source = LOOP + "\n    def shape(x):\n        return x\n"
    found = only(attempt(source, leaf("loop", "model.py", "shape"), x=(4, 4)))
    assert (found.code, found.span) == ("TRC113", AT)
    assert '"model.py:shape" raises TypeError' in found.message


def test_a_function_that_returns_something_else(attempt: Attempt) -> None:
    source = model("return (x[: int(x.sum())],)", "torch.cat(self.part(x))")
    found = only(attempt(source, leaf("part", "torch", "empty_like"), x=(4, 4)))
    assert found.code == "TRC106"
    assert (found.help or "").startswith("does `torch:empty_like` return what the leaf `part` does?")


@pytest.mark.parametrize("given", ["object()", "Part()"])
def test_an_argument_that_cannot_be_written(attempt: Attempt, given: str) -> None:
    found = only(attempt(model("return x + 1", f"self.part(x, {given})"), leaf("part"), x=(4, 4)))
    assert (found.code, found.span) == ("TRC113", AT)
    assert "cannot be written" in found.message


def test_a_leaf_with_a_hook(attempt: Attempt) -> None:
    init = "self.part = Part(); self.part.register_forward_hook(print)"
    source = model("return x + 1").replace("self.part = Part()", init)
    assert only(attempt(source, leaf("part"), x=(4, 4))).code == "TRC113"


def test_a_leaf_in_a_scope(traced: Tracing) -> None:
    block = """
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.loop = Loop()

        def forward(self, x):
            return self.loop(x * 2, limit=0.5)
    """
    stack = LOOP.replace("self.loop = Loop()", "self.blocks = nn.ModuleList([Block(), Block()])")
    stack = stack.replace("self.loop(x * 2, limit=0.5)", "self.blocks[1](self.blocks[0](x))")
    source = stack.replace("    class Model", f"{block}\n    class Model")
    request = {"scope": ScopeRequest("blocks.*", "", AT), **leaf("blocks.*.loop", "torch", "empty_like")}
    trace = traced(source, request, x=(4, 4))
    assert trace.scope is not None and trace.scope.instances == ("blocks.0", "blocks.1")
    assert [op.name for op in trace.ops] == ["mul", "loop"]


@pytest.mark.parametrize("operator", ["while_loop", "scan", "map"])
def test_a_higher_order_op_is_proposed_as_a_leaf_and_then_traces(attempt: Attempt, operator: str) -> None:
    calls = {
        "while_loop": "torch._higher_order_ops.while_loop(lambda x: x.sum() < 9, lambda x: (x * 2,), (x,))[0]",
        "scan": "torch._higher_order_ops.scan(lambda c, x: (c + x, x * 2), x[0] * 0, x)[1]",
        "map": "torch._higher_order_ops.map(lambda x: x * 2, x)",
    }
    source = model(f"return {calls[operator]}")
    found = only(attempt(source, x=(4, 4)))
    assert found.code == "TRC108" and f"`{operator}`" in found.message
    assert found.fix is not None and found.fix.edits[0].text == '\nleaf "part" from "torch:empty_like"'
    assert attempt(source, leaf("part", "torch", "empty_like"), x=(4, 4)).diagnostics == ()


def test_a_leaf_with_branches_needs_no_function(traced: Tracing) -> None:
    source = model("return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))")
    assert [op.target for op in traced(source, leaf("part"), x=(4, 4)).ops] == [LEAF]


@pytest.mark.parametrize("scope", ["part", "*"])
def test_a_leaf_that_is_in_scope(attempt: Attempt, scope: str) -> None:
    request = {"scope": ScopeRequest(scope, "", Span("test.sched", 3, 1, 3, 9)), **leaf("part")}
    found = only(attempt(model("return x + 1"), request, x=(4, 4)))
    assert (found.code, found.span) == ("TRC113", AT)
    assert found.message == "the leaf `part` is in scope: its forward() is what is traced"
    assert "leave the `leaf` statement out" in (found.help or "")
