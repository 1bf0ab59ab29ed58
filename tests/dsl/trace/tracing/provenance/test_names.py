"""Names of values: the locals that hold them at the next traced call."""

from __future__ import annotations

from collections.abc import Callable

from streamsched.dsl.trace.model import Trace


def names(trace: Trace) -> list[str]:
    """The local of each value that an op makes."""
    return [value.local for value in trace.values if value.producer >= 0]


def test_assignment_unpacking_and_walrus(forward: Callable[..., Trace]) -> None:
    trace = forward("""\
        a, (b, *c) = x + 1, (x * 2, x - 1)
        if (d := a + b) is not None:
            e = f = d.exp()
        return (x / 2).abs(), e
        """)
    assert names(trace) == ["a", "b", "c_0", "d", "e", "", ""]


def test_helper_returns_and_intermediate_values(traced: Callable[..., Trace]) -> None:
    trace = traced(
        """
        def helper(x):
            u = x + 1
            v = u * 2
            return v, u

        class Model(nn.Module):
            def forward(self, x):
                p, q = helper(x)
                return p
        """,
        x=(4,),
    )
    assert names(trace) == ["q", "p"]


def test_rebinding_in_a_loop(forward: Callable[..., Trace]) -> None:
    trace = forward("for i in range(2):\n    y = x + 1\n    x = y * 2\nreturn x")
    assert names(trace) == ["y", "x", "y", "x"]


def test_items_of_a_list_are_called_after_it_unless_they_get_a_name(forward: Callable[..., Trace]) -> None:
    trace = forward("parts = [x + 1, x + 2]\nfor part in parts[:1]:\n    part.exp()\nreturn torch.stack(parts)")
    assert names(trace) == ["part", "parts_1", "", ""]


def test_in_place_results_keep_the_objects_name(forward: Callable[..., Trace]) -> None:
    trace = forward("y = x + 1\ny /= 2\nz = y.add_(1)\nw = z\nreturn w * 1")
    assert names(trace) == ["y", "y", "y", ""]
    made = [value for value in trace.values if value.producer >= 0]
    assert [value.same_object for value in made] == [-1, 1, 2, -1]


def test_first_name_wins(forward: Callable[..., Trace]) -> None:
    assert names(forward("y = x + 1\nz = y\nw = z * 2\ny = w\nreturn y * z")) == ["y", "w", ""]


def test_further_names_of_what_is_made_and_given(forward: Callable[..., Trace]) -> None:
    trace = forward("old = x\nx = x + 1\ny = x\nx = x * old\nz = w = x\nreturn z * y + w")
    found = {value.name: (value.local, value.aliases) for value in trace.values if value.local}
    assert found == {"x": ("x", ("old",)), "add": ("x", ("y",)), "mul": ("x", ("z", "w"))}


def test_names_inside_modules(traced: Callable[..., Trace]) -> None:
    trace = traced(
        """
        class Inner(nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = nn.Linear(4, 4)

            def forward(self, hidden):
                gate = self.linear(hidden)
                return gate.relu()

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Inner()

            def forward(self, x):
                y = self.inner(x + 1)
                return y
        """,
        x=(4, 4),
    )
    made = [(value.name, value.local, value.inner) for value in trace.values if value.producer >= 0]
    assert made == [("add", "", ""), ("linear", "", "gate"), ("relu", "y", "")]
