"""Ops that are registered with torch.library."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from streamsched.dsl.trace.export import Traced
from streamsched.dsl.trace.model import OpKind, Ref, StorageKind, Trace

OPS = """
@torch.library.custom_op("tried::scale", mutates_args=())
def scale(x: torch.Tensor, by: float) -> torch.Tensor:
    return x * by

@scale.register_fake
def _(x, by):
    return torch.empty_like(x)

@torch.library.custom_op("tried::bump", mutates_args={"x"})
def bump(x: torch.Tensor, y: torch.Tensor) -> None:
    x += y

torch.library.define("tried::pair", "(Tensor x, *, int n=1) -> (Tensor, Tensor)")

@torch.library.impl("tried::pair", "CompositeExplicitAutograd")
def pair(x, *, n=1):
    return x + n, x - n

@torch.library.register_fake("tried::pair")
def pair_fake(x, *, n=1):
    return torch.empty_like(x), torch.empty_like(x)

@torch.library.custom_op("tried::blind", mutates_args=())
def blind(x: torch.Tensor) -> torch.Tensor:
    return x * 2

torch.library.define("tried::dark", "(Tensor x) -> Tensor")

@torch.library.impl("tried::dark", "cpu")
def dark(x):
    return x + 1
"""


def model(body: str) -> str:
    return f"{OPS}\nclass Model(nn.Module):\n    def forward(self, x, y):\n        {body}\n"


def test_results_are_fresh(traced: Callable[..., Trace]) -> None:
    trace = traced(model("return scale(x, 2.0), *torch.ops.tried.pair(y, n=3)"), x=(4, 4), y=(4, 4))
    first, second = trace.ops
    assert (first.target, first.kind) == ("tried.scale.default", OpKind.KERNEL)
    assert second.target == "tried.pair.default" and len(second.writes) == 2
    assert [trace.storages[trace.values[v].storages[0]].kind for v in trace.outputs()] == [StorageKind.OP] * 3


def test_a_mutated_argument_is_written(traced: Callable[..., Trace]) -> None:
    trace = traced(model("a = x + 1; bump(a, y); return a * 2"), x=(4, 4), y=(4, 4))
    add, bump, mul = trace.ops
    assert bump.writes == add.writes and set(add.writes) <= set(bump.reads)
    assert set(mul.reads) & set(bump.writes)
    assert not any(isinstance(bump.result, Ref) for _ in bump.writes)


def test_an_op_is_forgotten_with_the_file_that_registers_it(traced: Callable[..., Trace]) -> None:
    kept = len(torch.library._keep_alive)
    for _ in range(2):  # an op can be registered once in a process
        traced(model("return scale(x, 2.0) + torch.ops.tried.pair(y)[0]"), x=(4, 4), y=(4, 4))
    assert len(torch.library._keep_alive) == kept
    assert "tried::scale" not in torch._library.custom_ops.OPDEF_TO_LIB


@pytest.mark.parametrize(("call", "name"), [("blind(x)", "blind"), ("torch.ops.tried.dark(x)", "dark")])
def test_an_op_without_a_fake(attempt: Callable[..., Traced], call: str, name: str) -> None:
    made = attempt(model(f"return {call} + y"), x=(4, 4), y=(4, 4))
    (found,) = made.diagnostics
    assert found.code == "TRC114"
    assert f"`tried::{name}`" in found.message
    assert f'register_fake("tried::{name}")' in (found.help or "")
    assert found.fix is None  # the model itself can be no leaf
