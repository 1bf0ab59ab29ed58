"""`value` selects what updates the value in place, also where a called function does."""

from __future__ import annotations

from collections.abc import Callable

from streamsched.dsl.plan.index import TraceIndex
from streamsched.dsl.trace.export import Traced
from streamsched.dsl.trace.model import Trace

HELPERS = """
import torch.distributed as dist

def bump(t):
    t.view(-1).add_(1)
    return t

def add_both(first, second):
    first.add_(second)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kv", torch.zeros(4, 4))

    def step(self, x):
        self.kv.copy_(x)

    def forward(self, x):
        {body}
"""


def selected(attempt: Callable[..., Traced], body: str, name: str, **request: int) -> list[str]:
    """The statements of the executions that `value NAME` selects."""
    text = HELPERS.format(body=body.replace("\n", "\n        "))
    trace = attempt(text, request=request, x=(4, 4)).trace
    assert isinstance(trace, Trace)
    executions = TraceIndex(trace).executions.get(name, [])
    return [trace.statements[trace.ops[min(ops)].statement].text for ops in executions]


def test_a_called_function_updates_a_local(attempt: Callable[..., Traced]) -> None:
    body = "f = x * 7\nbump(f)\ng = f + 1\nreturn g"
    assert selected(attempt, body, "f") == ["f = x * 7", "bump(f)"]
    assert selected(attempt, body, "g") == ["g = f + 1"]


def test_a_collective_in_place(attempt: Callable[..., Traced]) -> None:
    body = "b = x * 7\ndist.all_reduce(b)\nreturn b + 1"
    assert selected(attempt, body, "b", world=2) == ["b = x * 7", "dist.all_reduce(b)"]


def test_a_method_updates_a_buffer(attempt: Callable[..., Traced]) -> None:
    assert selected(attempt, "self.step(x)\nreturn x + self.kv", "self.kv") == ["self.step(x)"]


def test_a_name_that_was_given_to_another_value_is_not_updated(attempt: Callable[..., Traced]) -> None:
    body = "h = x * 2\nresidual = h\nh = h + 1\nadd_both(residual, h)\nreturn residual"
    assert selected(attempt, body, "residual") == ["add_both(residual, h)"]
    assert selected(attempt, body, "h") == ["h = x * 2", "h = h + 1"]


def test_a_named_view_stands_for_itself(attempt: Callable[..., Traced]) -> None:
    body = "f = x * 7\nv = f.view(-1)\nbump(v)\nreturn f + 1"
    assert selected(attempt, body, "v") == ["v = f.view(-1)", "bump(v)"]
    assert selected(attempt, body, "f") == ["f = x * 7"]


def test_what_a_function_makes_and_updates_is_none_of_the_callers(attempt: Callable[..., Traced]) -> None:
    body = "f = x * 7\ng = bump(f * 2)\nreturn g"
    assert selected(attempt, body, "f") == ["f = x * 7"]
    assert selected(attempt, body, "g") == ["g = bump(f * 2)"]
