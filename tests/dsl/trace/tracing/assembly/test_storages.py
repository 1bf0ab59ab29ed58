"""Storages, kinds of ops, reads and writes; a sweep that compares with what torch does eagerly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional

from streamsched.dsl.trace.export import Traced
from streamsched.dsl.trace.model import NONE, Op, OpKind, Ref, Sequence, StorageKind, Trace, refs

VIEWS = [
    "x.view(8, 2)",
    "x.view(torch.int32)",
    "x.view_as(x)",
    "x.T",
    "x.mT",
    "x.t()",
    "x.transpose(0, 1)",
    "x.permute(1, 0)",
    "x.swapaxes(0, 1)",
    "x.movedim(0, 1)",
    "x[0]",
    "x[:, 1:3]",
    "x[None]",
    "x[...]",
    "x.select(0, 1)",
    "x.narrow(0, 0, 2)",
    "x.squeeze()",
    "x.unsqueeze(0)",
    "x.expand(2, 4, 4)",
    "x[:1].expand_as(x)",
    "x[:1].broadcast_to(4, 4)",
    "x.diagonal()",
    "x.unfold(0, 2, 1)",
    "x.as_strided((2, 2), (1, 2))",
    "x.detach()",
    "x.data",
    "x.real",
    "x.unflatten(0, (2, 2))",
    "x.split(2)",
    "x.chunk(2)",
    "x.unbind()",
    "x.tensor_split(2)",
    "x.hsplit(2)",
    "torch.atleast_3d(x)",
    "torch.broadcast_tensors(x, x)",
    "torch.meshgrid(x[0], x[1], indexing='ij')",
    "torch.einsum('ij->ji', x)",
    "torch.positive(x)",
    "F.dropout(x, 0.5, training=False)",
    "F.dropout(x, 0.0, training=True)",
    "F.dropout2d(x[None], 0.5, training=False)",
    "F.alpha_dropout(x, 0.5, training=False)",
]
EITHER = [
    "x.reshape(-1)",
    "x.T.reshape(-1)",
    "x.reshape_as(x)",
    "x.flatten()",
    "x.ravel()",
    "x.T.ravel()",
    "x.T.contiguous()",
    "x.to(torch.float32)",
    "x.float()",
    "x.type_as(x)",
]
FRESH = [
    "x.clone()",
    "x + 1",
    "x.half()",
    "x.to(torch.float32, copy=True)",
    "x.repeat(1, 1)",
    "x.flip(0)",
    "torch.cat([x])",
    "torch.stack([x])",
    "x.index_select(0, torch.arange(2))",
    "x.masked_fill(x > 0, 0.0)",
    "F.pad(x, (0, 0))",
    "F.pad(x, (1, 1))",
    "F.relu(x)",
    "F.softmax(x, 0)",
    "tuple(x.max(0))",
    "tuple(x.topk(2))",
    "F.dropout(x, 0.5, training=True)",
    "torch.zeros_like(x)",
    "torch.full((2, 2), 1.0)",
    "F.embedding(torch.zeros(2, dtype=torch.int64), x)",
]
IN_PLACE = [
    "x.add_(1)",
    "x.copy_(x + 1)",
    "x.fill_(0)",
    "x.relu_()",
    "F.relu(x, inplace=True)",
    "x.masked_fill_(x > 0, 0.0)",
    "x.index_copy_(0, torch.arange(4), x + 1)",
    "x.scatter_(0, torch.zeros(4, 4, dtype=torch.int64), x + 1)",
    "torch.add(x, 1, out=x)",
    "x.normal_()",
]
METADATA = ["x.t_()", "x.squeeze_()", "x.detach_()"]


def eager_aliases(expression: str) -> list[bool]:
    """For each tensor of the result, whether it lies in x's memory when torch runs eagerly on the CPU."""
    x = torch.rand(4, 4)
    result = eval(expression, {"torch": torch, "F": functional, "x": x})
    flat = result if isinstance(result, tuple | list) else [result]
    # One whose memory is used twice: `torch.meshgrid(x[0], ...)` lies in x's memory as well.
    return [tensor.untyped_storage()._cdata == x.untyped_storage()._cdata for tensor in flat]


def last_op(forward: Callable[..., Trace], expression: str) -> tuple[Trace, Op]:
    trace = forward(f"return {expression}")
    return trace, trace.ops[-1]


def traced_aliases(trace: Trace, op: Op) -> list[set[bool]]:
    """For each tensor of the result, whether it may lie in x's memory: both, where either may be."""
    [home] = trace.values[trace.inputs[0]].storages
    return [{storage == home for storage in trace.values[v].storages} for v in refs(op.result)]


@pytest.mark.parametrize("expression", VIEWS)
def test_views_launch_nothing(forward: Callable[..., Trace], expression: str) -> None:
    trace, op = last_op(forward, expression)
    assert eager_aliases(expression) == [True] * len(list(refs(op.result)))
    assert traced_aliases(trace, op) == [{True}] * len(list(refs(op.result)))
    assert op.kind is OpKind.VIEW
    assert not op.random
    assert op.writes == ()


@pytest.mark.parametrize("expression", EITHER)
def test_alias_or_copy(forward: Callable[..., Trace], expression: str) -> None:
    trace = forward(f"y = {expression}\nreturn y")
    op = trace.ops[-1]
    [eager], [possible] = eager_aliases(expression), traced_aliases(trace, op)
    assert eager in possible
    assert possible == {True, False}
    [home] = trace.values[trace.inputs[0]].storages
    assert op.kind is OpKind.KERNEL
    assert op.reads == (home,)
    assert home not in op.writes
    assert len(op.writes) == 1


@pytest.mark.parametrize("expression", FRESH)
def test_fresh_results(forward: Callable[..., Trace], expression: str) -> None:
    if "torch.arange" in expression or "torch.zeros(" in expression:
        expression = expression.replace("torch.arange(2)", "torch.arange(2, device=x.device)")
        expression = expression.replace("dtype=torch.int64)", "dtype=torch.int64, device=x.device)")
    trace, op = last_op(forward, expression)
    assert eager_aliases(expression) == [False] * len(list(refs(op.result)))
    assert traced_aliases(trace, op) == [{False}] * len(list(refs(op.result)))
    assert op.kind is OpKind.KERNEL
    assert set(op.writes) >= {s for v in refs(op.result) for s in trace.values[v].storages}


@pytest.mark.parametrize("expression", IN_PLACE)
def test_in_place_writes(forward: Callable[..., Trace], expression: str) -> None:
    spelled = expression.replace("arange(4)", "arange(4, device=x.device)").replace("int64)", "int64, device=x.device)")
    trace, op = last_op(forward, spelled)
    [home] = trace.values[trace.inputs[0]].storages
    assert eager_aliases(expression) == [True]
    assert op.kind is OpKind.KERNEL
    assert home in op.writes
    assert isinstance(op.result, Ref)
    assert trace.values[op.result.value].storages == (home,)
    assert trace.values[op.result.value].same_object == trace.inputs[0]


@pytest.mark.parametrize("expression", METADATA)
def test_in_place_change_of_metadata_is_a_view(forward: Callable[..., Trace], expression: str) -> None:
    trace, op = last_op(forward, expression)
    assert op.kind is OpKind.VIEW
    assert op.writes == ()
    assert trace.values[next(refs(op.result))].same_object == trace.inputs[0]


@pytest.mark.parametrize(
    "expression",
    [
        "torch.empty(4, device=x.device)",
        "torch.empty_like(x)",
        "x.new_empty(3)",
        "torch.empty_strided((2, 2), (2, 1), device=x.device)",
        "x.new_empty_strided((2, 2), (2, 1))",
        "torch.empty_permuted((2, 2), (0, 1), device=x.device)",
    ],
)
def test_allocations(forward: Callable[..., Trace], expression: str) -> None:
    trace, op = last_op(forward, expression)
    assert op.kind is OpKind.ALLOCATE
    assert op.reads == ()
    assert op.writes == trace.values[next(refs(op.result))].storages


@pytest.mark.parametrize(
    ("expression", "random"),
    [
        ("torch.rand_like(x)", True),
        ("torch.randn(3, device=x.device)", True),
        ("torch.bernoulli(x)", True),
        ("x.normal_()", True),
        ("F.dropout(x, 0.5, training=True)", True),
        ("F.dropout(x, 0.5, training=False)", False),
        ("F.scaled_dot_product_attention(x[None], x[None], x[None])", False),
        ("F.scaled_dot_product_attention(x[None], x[None], x[None], dropout_p=0.5)", True),
        ("F.rrelu(x, training=False)", False),
        ("x + 1", False),
    ],
)
def test_random_ops_write_the_generator(forward: Callable[..., Trace], expression: str, random: bool) -> None:
    trace, op = last_op(forward, expression)
    generators = [i for i, s in enumerate(trace.storages) if s.kind is StorageKind.GENERATOR]
    assert op.random is random
    assert generators == [s for s in op.writes if s in generators]
    assert bool(generators) is random


def test_random_ops_share_one_generator(forward: Callable[..., Trace]) -> None:
    trace = forward("return torch.rand_like(x) + torch.rand_like(x)")
    first, second, _ = trace.ops
    assert set(first.writes) & set(second.reads)


def test_result_that_may_alias_carries_both_storages_on(forward: Callable[..., Trace]) -> None:
    trace = forward("y = x.reshape(-1)[1:]\ny.add_(1)\nreturn y")
    reshape, _, add_ = trace.ops
    [value] = refs(reshape.result)
    assert len(trace.values[value].storages) == 2
    assert add_.writes == trace.values[value].storages


def test_out_argument_is_written_and_not_read(forward: Callable[..., Trace]) -> None:
    trace = forward("out = torch.empty_like(x)\nr = torch.add(x, 1, out=out)\nreturn out")
    empty, add = trace.ops
    assert add.writes == empty.writes
    assert add.reads == trace.values[trace.inputs[0]].storages


def test_tuple_results_have_all_their_values(forward: Callable[..., Trace]) -> None:
    trace = forward("a, *_ = x.split(1)\nreturn a, x.max(0).values")
    split, maximum = trace.ops
    assert isinstance(split.result, Sequence) and split.result.kind == "list" and len(split.result.items) == 4
    assert isinstance(maximum.result, Sequence) and len(maximum.result.items) == 2
    assert all(trace.values[v].producer == 0 for v in refs(split.result))


def test_custom_op_that_mutates(traced: Callable[..., Trace]) -> None:
    trace = traced(
        """
        try:
            torch.ops.tracetest.accumulate
        except AttributeError:
            @torch.library.custom_op("tracetest::accumulate", mutates_args=("into",))
            def accumulate(into: torch.Tensor, x: torch.Tensor) -> None:
                into.add_(x)

        class Model(nn.Module):
            def forward(self, x, y):
                torch.ops.tracetest.accumulate(x, y)
                return x * 2
        """,
        x=(4,),
        y=(4,),
    )
    op, mul = trace.ops
    x, y = (trace.values[v].storages for v in trace.inputs)
    assert op.target == "tracetest.accumulate.default"
    assert (op.reads, op.writes) == ((*x, *y), x)
    assert mul.reads == x


STATE = """
class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(4))

    def forward(self, x):
        self.count = self.count + x
        return self.count * 2

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
        self.register_buffer("total", torch.zeros(4))
        self.weight = nn.Parameter(torch.zeros(4))
        self.tied = self.weight
        self.params = nn.ParameterList([torch.zeros(4)])
        self.plain = torch.zeros(4)

    def forward(self, x):
        self.total = self.total + 1
        self.total += 1
        return self.inner(x) + self.weight * self.tied + self.params[0] + self.plain
"""


def test_state_and_assignments_to_buffers(traced: Callable[..., Trace]) -> None:
    trace = traced(STATE, x=(4,))
    outer = {
        value.expression: trace.storages[value.storages[0]].kind for value in trace.values if value.producer == NONE
    }
    assert outer == {
        "x": StorageKind.INPUT,
        "self.total": StorageKind.BUFFER,
        "self.inner.count": StorageKind.BUFFER,
        "self.weight": StorageKind.PARAMETER,
        "self.params[0]": StorageKind.PARAMETER,
        "self.plain": StorageKind.CONSTANT,
    }
    copies = [op for op in trace.ops if op.target == "aten.copy_.default"]
    targets = [trace.values[next(refs(op.args[0]))].expression for op in copies]
    assert targets == ["self.total", "self.inner.count"]
    assert trace.ops[-2:] == tuple(copies)
    assert [trace.values[next(refs(op.args[1]))].name for op in copies] == ["add_", "add_1"]
    assert all(op.call == 0 for op in copies)


def test_buffer_updated_in_place_needs_no_copy(traced: Callable[..., Trace]) -> None:
    trace = traced(STATE.replace("self.total = self.total + 1", "pass"), x=(4,))
    assert [op.target for op in trace.ops if op.target == "aten.copy_.default"] == ["aten.copy_.default"]


def test_one_tensor_passed_twice_is_one_storage(traced: Callable[..., Trace]) -> None:
    source = """
    class Model(nn.Module):
        def forward(self, x, pair, named, *, last=None):
            return x + pair[0] + named["k"] + last

    def inputs():
        x = torch.empty(4)
        return (x, (x, 3), {"k": torch.empty(4)}), {"last": x}
    """
    trace = traced(source, {"inputs_from": ("model.py", "inputs")})
    found = [(trace.values[v].expression, trace.values[v].storages) for v in trace.inputs]
    assert found == [("x", (0,)), ("pair[0]", (0,)), ('named["k"]', (1,)), ("last", (0,))]


def test_host_waits(forward: Callable[..., Trace]) -> None:
    trace = forward("y = x.cpu()\nreturn y, x.sum().item(), x.nonzero()")
    waits = {op.target: op.host_sync for op in trace.ops}
    assert waits["aten.item.default"] and waits["aten.nonzero.default"] and not waits["aten.sum.default"]
    assert trace.ops[0].host_sync
    hosts = [i for i, s in enumerate(trace.storages) if s.kind is StorageKind.HOST]
    assert len(hosts) == 1
    assert all(hosts[0] in op.writes for op in trace.ops if op.host_sync)


def test_constants_made_in_forward(forward: Callable[..., Trace]) -> None:
    trace = forward("""\
        a = torch.tensor(2.0)
        b = torch.tensor([[1, 2], [3, 4]], dtype=torch.int32)
        c = torch.tensor([float("inf"), 0.5])
        return x * a, b + 1, c * 2
        """)
    constants = [(v.expression, v.local) for v in trace.values if v.producer == NONE and v.expression != "x"]
    assert constants == [
        ("torch.tensor(2.0)", "a"),
        ("torch.tensor([[1, 2], [3, 4]], dtype=torch.int32)", "b"),
        ("torch.tensor([float('inf'), 0.5])", "c"),
    ]
    assert [op.target for op in trace.ops] == ["aten.mul.Tensor", "aten.add.Tensor", "aten.mul.Tensor"]


AUTOCAST = """
class Model(nn.Module):
    def forward(self, x):
        with torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=ENABLED):
            y = x @ x
        return y
"""


def test_autocast_context(attempt: Callable[..., Traced]) -> None:
    source = AUTOCAST.replace("DEVICE", "'cpu'").replace("ENABLED", "True")
    trace = attempt(source, x=(4, 4)).trace
    assert trace is not None
    assert trace.ops[0].contexts == ("torch.autocast('cpu', dtype=torch.bfloat16, enabled=True, cache_enabled=False)",)


@pytest.mark.parametrize("device", ["x.device.type", "'cpu'", "'npu'"])
def test_disabled_autocast_is_no_context(traced: Callable[..., Trace], device: str) -> None:
    trace = traced(AUTOCAST.replace("DEVICE", device).replace("ENABLED", "False"), x=(4, 4))
    assert trace.ops[0].contexts == ()


def test_autocast_disabled_inside_an_enabled_one_is_a_context(attempt: Callable[..., Traced]) -> None:
    source = """
    class Model(nn.Module):
        def forward(self, x):
            with torch.autocast("cpu", dtype=torch.bfloat16), torch.autocast("cpu", enabled=False):
                return x @ x
    """
    trace = attempt(source, x=(4, 4)).trace
    assert trace is not None
    assert ["enabled=True" in context for context in trace.ops[0].contexts] == [True, False]


def arguments(trace: Trace) -> Any:
    return trace.ops[0].args, dict(trace.ops[0].kwargs)


def test_device_is_a_literal_to_be_replaced(forward: Callable[..., Trace]) -> None:
    _, kwargs = arguments(forward("return torch.arange(4, device=x.device)"))
    assert kwargs["device"].text == "'meta'"


def test_call_that_returns_its_own_object_is_no_op(forward: Callable[..., Trace]) -> None:
    trace = forward("y = x.contiguous()\nreturn y")
    assert trace.ops == ()
    assert trace.result == Ref(trace.inputs[0])
