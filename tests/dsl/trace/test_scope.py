"""Scopes over small models: which modules are one trace, and what is said of those that are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from streamsched.dsl.diagnostic import Diagnostic, Span
from streamsched.dsl.trace.export import Traced
from streamsched.dsl.trace.model import Literal, Trace
from streamsched.dsl.trace.request import ScopeRequest

SCOPE_SPAN = Span("test.sched", 3, 1, 3, 20)


@pytest.fixture
def scoped(attempt: Callable[..., Traced]) -> Callable[..., Trace]:
    """The trace of the modules in scope, which must be one."""

    def run(source: str, glob: str, class_name: str = "", **inputs: Any) -> Trace:
        made = attempt(source, {"scope": ScopeRequest(glob, class_name, SCOPE_SPAN)}, **(inputs or {"x": (4, 8)}))
        assert made.trace is not None, made.diagnostics
        assert made.diagnostics == ()
        return made.trace

    return run


@pytest.fixture
def refused(attempt: Callable[..., Traced]) -> Callable[..., Diagnostic]:
    """The one finding that keeps the modules in scope from having a trace."""

    def run(source: str, glob: str, class_name: str = "", **inputs: Any) -> Diagnostic:
        made = attempt(source, {"scope": ScopeRequest(glob, class_name, SCOPE_SPAN)}, **(inputs or {"x": (4, 8)}))
        assert made.trace is None
        [found] = made.diagnostics
        return found

    return run


def model(forward: str, init: str = "self.w = nn.Linear(8, 8)", layers: int = 4, call: str = "x = layer(x)") -> str:
    """A model of layers; `init` and `forward` are statements of theirs, `i` is their number."""
    return f"""
class Layer(nn.Module):
    def __init__(self, i):
        super().__init__()
        {init}

    def forward(self, x, **kwargs):
        {forward}

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Layer(i) for i in range({layers}))

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            {call}
        return x
"""


def constants(trace: Trace, target: str) -> list[str]:
    return [
        argument.text
        for op in trace.ops
        if op.target == target
        for argument in op.args
        if isinstance(argument, Literal)
    ]


def test_one_trace_serves_all(scoped: Callable[..., Trace]) -> None:
    trace = scoped(model("return self.w(x).relu()"), "layers.*")
    assert trace.scope is not None
    assert trace.scope.instances == ("layers.0", "layers.1", "layers.2", "layers.3")
    assert [op.target for op in trace.ops] == ["aten.linear.default", "aten.relu.default"]
    assert [v.expression for v in trace.values if v.expression] == ["x", "self.w.weight", "self.w.bias"]
    assert [call.path for call in trace.calls] == ["", "w"]
    assert trace.root == "model:Layer"


def test_an_attribute_that_differs_is_spelled(scoped: Callable[..., Trace]) -> None:
    trace = scoped(model("return x * self.scale", "self.scale = 1 / (i + 1)"), "layers.*")
    assert constants(trace, "aten.mul.Tensor") == ["self.scale"]
