"""Where ops come from: positions, statements, visits, module calls."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from streamsched.dsl.trace.model import NONE, Op, Trace


def text_at(trace: Trace, op: Op, base: Path, depth: int = -1) -> str:
    """The source text of an op's position."""
    position = trace.positions[trace.stacks[op.stack][depth]]
    assert position.line == position.end_line
    line = (base / position.file).read_text().splitlines()[position.line - 1]
    return line[position.column - 1 : position.end_column - 1]


def executions(trace: Trace) -> list[tuple[str, int]]:
    """Statement and visit of each op, repetitions dropped."""
    seen = [(trace.statements[op.statement].text, op.visit) for op in trace.ops]
    return [item for index, item in enumerate(seen) if index == 0 or item != seen[index - 1]]


def test_columns_tell_two_expressions_on_a_line_apart(forward: Callable[..., Trace], tmp_path: Path) -> None:
    trace = forward('a = x + 1; é = "ü"; b = (x * 2) - (x / 3)\nreturn a, b')
    assert [text_at(trace, op, tmp_path) for op in trace.ops] == ["x + 1", "x * 2", "x / 3", "(x * 2) - (x / 3)"]
    assert [trace.statements[op.statement].binds for op in trace.ops] == [("a",), ("b",), ("b",), ("b",)]


def test_multi_line_statement(forward: Callable[..., Trace]) -> None:
    trace = forward("""\
        a = torch.cat(
            [
                x + 1,
                x * 2,
            ]
        )
        return a
        """)
    assert {trace.statements[op.statement].binds for op in trace.ops} == {("a",)}
    lines = [trace.positions[trace.stacks[op.stack][-1]].line for op in trace.ops]
    assert lines == [8, 9, 6]


def test_loop_counts_visits(forward: Callable[..., Trace]) -> None:
    trace = forward("""\
        for i in range(3):
            x = x + 1
        for i in range(2):
            y = x * 2
            x = (y + 1) * y
        while x.shape[0] != x.shape[1]:
            x = -x
        return x
        """)
    assert executions(trace) == [
        ("x = x + 1", 0),
        ("x = x + 1", 1),
        ("x = x + 1", 2),
        ("y = x * 2", 0),
        ("x = (y + 1) * y", 0),
        ("y = x * 2", 1),
        ("x = (y + 1) * y", 1),
    ]


def test_one_execution_of_calls_in_a_statement(traced: Callable[..., Trace]) -> None:
    trace = traced(
        """
        def helper(x):
            y = x + 1
            return y * 2

        class Model(nn.Module):
            def forward(self, x):
                a = helper(x) + helper(x)
                b = [t.relu() for t in (x, a)]
                c = sum(b)
                d = sum(t * 2 for t in b)
                e = list(map(lambda t: t - 1, b))
                for i in range(2):
                    x = helper(x)
                return a, c, d, e, x
        """,
        x=(4,),
    )
    assert executions(trace) == [
        ("a = helper(x) + helper(x)", 0),
        ("b = [t.relu() for t in (x, a)]", 0),
        ("c = sum(b)", 0),
        ("d = sum(t * 2 for t in b)", 0),
        ("e = list(map(lambda t: t - 1, b))", 0),
        ("x = helper(x)", 0),
        ("x = helper(x)", 1),
    ]


def test_stack_leads_from_forward_through_helpers_and_modules(traced: Callable[..., Trace], tmp_path: Path) -> None:
    trace = traced(
        """
        def scaled(x):
            return x * 2

        class Inner(nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = nn.Linear(4, 4)

            def forward(self, x):
                return scaled(self.linear(x))

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Inner()

            def forward(self, x):
                return self.inner(x)
        """,
        x=(4, 4),
    )
    linear, mul = trace.ops
    functions = [[trace.positions[p].function for p in trace.stacks[op.stack]] for op in (linear, mul)]
    assert functions == [["Model.forward", "Inner.forward"], ["Model.forward", "Inner.forward", "scaled"]]
    assert text_at(trace, linear, tmp_path) == "self.linear(x)"
    assert trace.statements[mul.statement].text == "return self.inner(x)"
    assert [trace.calls[op.call].path for op in trace.ops] == ["inner.linear", "inner"]


def test_decorated_forward_and_decorated_helper(traced: Callable[..., Trace]) -> None:
    trace = traced(
        """
        import functools

        def logged(function):
            @functools.wraps(function)
            def wrapper(*args, **kwargs):
                return function(*args, **kwargs)
            return wrapper

        class Model(nn.Module):
            @logged
            @logged
            def forward(self, x):
                y = x + 1
                return y
        """,
        x=(4,),
    )
    assert trace.statements[trace.ops[0].statement].binds == ("y",)
    assert [p.name for p in trace.parameters] == ["x"]
    assert trace.values[trace.ops[0].result.value].local == "y"  # type: ignore[union-attr]


def test_forward_of_a_class_that_contains_itself(traced: Callable[..., Trace]) -> None:
    trace = traced(
        """
        class Model(nn.Module):
            def __init__(self, depth=2):
                super().__init__()
                self.inner = Model(depth - 1) if depth else None

            def forward(self, x):
                if self.inner is not None:
                    z = self.inner(x)
                    x = z * 2
                return x + 1

        def build():
            return Model()
        """,
        request={"attribute": "build"},
        x=(4,),
    )
    texts = [trace.statements[op.statement].text for op in trace.ops]
    assert texts == ["z = self.inner(x)"] * 3 + ["x = z * 2", "return x + 1"]


def test_model_of_torch_itself(traced: Callable[..., Trace]) -> None:
    trace = traced(
        "def build(): return nn.Sequential(nn.Linear(4, 4), nn.ReLU())", {"attribute": "build"}, input=(4, 4)
    )
    assert [op.target for op in trace.ops] == ["aten.linear.default", "aten.relu.default"]
    assert [call.accessor for call in trace.calls] == ["", "[0]", "[1]"]
    assert [op.visit for op in trace.ops] == [0, 1]
    assert trace.statements[trace.ops[0].statement].binds == ("input",)


def test_every_op_has_a_position(forward: Callable[..., Trace]) -> None:
    trace = forward("with torch.enable_grad():\n    y = F.softmax(x, -1)\nreturn F.layer_norm(y, (4,)).amax(1)")
    assert all(op.stack != NONE and op.statement != NONE for op in trace.ops)
    assert trace.ops[0].contexts == ("torch.enable_grad()",)
    assert trace.ops[1].contexts == ()
