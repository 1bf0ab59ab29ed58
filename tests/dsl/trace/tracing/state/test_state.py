"""What forward() leaves in its arguments: assignments of the trace, or a finding."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from streamsched.dsl.trace.export import Traced
from streamsched.dsl.trace.model import ABSENT, Assignment, Literal, Ref, Trace

SOURCE = """
class State:
    def __init__(self):
        self.a, self.b, self.n, self.items, self.table = torch.empty(4), torch.empty(4), 1, [torch.empty(4)], {}

import torch.utils._pytree as pytree

def flatten(state):
    return [state.a, state.b, state.items[0]], state.n

def unflatten(leaves, n):
    state = State.__new__(State)
    state.a, state.b, state.items, state.n, state.table = leaves[0], leaves[1], [leaves[2]], n, {}
    return state

pytree.register_pytree_node(
    State, flatten, unflatten,
    flatten_with_keys_fn=lambda s: ([(pytree.SequenceKey(i), leaf) for i, leaf in enumerate(flatten(s)[0])], s.n),
)

class Inner(nn.Module):
    def forward(self, x, state):
        INNER

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x, state):
        BODY

def inputs():
    return torch.empty(4), State()
"""


def source_of(body: str, inner: str = "return x") -> str:
    return SOURCE.replace("BODY", body).replace("INNER", inner)


REQUEST = {"inputs_from": ("model.py", "inputs")}


@pytest.fixture
def assigned(traced: Callable[..., Trace]) -> Callable[..., dict[str, Assignment]]:
    """The assignments of a trace by their targets."""

    def run(body: str, inner: str = "return x") -> dict[str, Assignment]:
        return {each.target: each for each in traced(source_of(body, inner), REQUEST).assignments}

    return run


@pytest.mark.parametrize(
    ("change", "target", "value", "before"),
    [
        ("state.n = 2", "state.n", "2", "1"),
        ("state.new = None", "state.new", "None", ABSENT),
        ("state.a = None", "state.a", "None", "class Tensor"),
        ("state.table['k'] = x.dtype", 'state.table["k"]', "torch.float32", ABSENT),
        ("state.n = x.device", "state.n", "torch.device('meta')", "1"),
        ("state.b = state.items", "state.b", "state.items", "class Tensor"),
        ("state.items = None", "state.items", "None", "class list"),
    ],
)
def test_constants_and_objects(
    assigned: Callable[..., dict[str, Assignment]], change: str, target: str, value: str, before: str
) -> None:
    found = assigned(f"{change}; return x + 1")
    assert list(found) == [target]
    assert (found[target].value, found[target].before) == (Literal(value), before)


@pytest.mark.parametrize(
    ("change", "target"),
    [
        ("state.a = x * 2", "state.a"),
        ("state.items[0] = x * 2", "state.items[0]"),
        ("state.table['k'] = x * 2", 'state.table["k"]'),
        ("state.a = 1; state.a = x * 2", "state.a"),
    ],
)
def test_tensors(assigned: Callable[..., dict[str, Assignment]], change: str, target: str) -> None:
    found = assigned(f"{change}; return x + 1")
    assert list(found) == [target]
    assert isinstance(found[target].value, Ref)


@pytest.mark.parametrize("change", ["state.a.add_(x)", "state.n = 1", "a = state.a; state.a = x * 2; state.a = a"])
def test_what_is_as_it_was(assigned: Callable[..., dict[str, Assignment]], change: str) -> None:
    assert assigned(f"{change}; return x + 1") == {}


def test_who_assigns_and_when(assigned: Callable[..., dict[str, Assignment]]) -> None:
    found = assigned(
        "state.n = 2; y = self.inner(x, state); state.b = y * 2; z = self.inner(y, state); return z",
        "state.a = x + 1; return x + state.a",
    )
    seen = {target: (each.calls, each.since, each.until) for target, each in found.items()}
    assert seen == {"state.n": ((0,), 0, 0), "state.a": ((1, 2), 2, 5), "state.b": ((0,), 3, 3)}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("state.items.append(x * 2); return x", "adds to state.items or takes from it"),
        ("del state.table, state.n; return x", "adds to state or takes from it"),
        ("state.a = lambda: 1; return x", "puts a builtins:function into state.a"),
        ("old = state.a; state.a = x * 2; return self.inner(old, state)", "uses what was in state.a after"),
        ("state.a, state.b = state.b, state.a; return x", "uses what was in state.b after"),
    ],
)
def test_what_cannot_be_assigned(attempt: Callable[..., Traced], body: str, message: str) -> None:
    found = attempt(source_of(body, "return x + 1"), REQUEST).diagnostics
    assert {diagnostic.code for diagnostic in found} == {"TRC108"}
    assert any(message in diagnostic.message for diagnostic in found), found


def test_dicts_are_arguments_too(traced: Callable[..., Trace]) -> None:
    source = """
    class Model(nn.Module):
        def forward(self, x, state, **more):
            state["y"] = x + 1
            more["inner"]["z"] = x + 2
            return state, more["inner"]

    def inputs():
        return {"x": torch.empty(4), "state": {"y": torch.empty(4)}, "inner": {}}
    """
    trace = traced(source, REQUEST)
    assert [each.target for each in trace.assignments] == ['state["y"]', 'more["inner"]["z"]']
    assert trace.calls[0].result == trace.result
    assert [getattr(item, "text", "") for item in trace.result.items] == ["state", 'more["inner"]']  # type: ignore[union-attr]
