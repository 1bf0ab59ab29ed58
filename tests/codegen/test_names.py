"""What things are called in generated code, and when names are deleted."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from forwards import forward_lines
from modelled import Planned
from plans import program_of
from traces import TraceBuilder

from streamsched.codegen.emitter import generate, same_generated
from streamsched.dsl.program.steps import Program
from streamsched.dsl.trace.model import Trace

SIDE = "sync auto\nstream side\n"


def body(program: Program, target: str = "npu") -> list[str]:
    return forward_lines(generate(program, target))


def test_a_name_is_bound_again_as_in_the_source() -> None:
    builder = TraceBuilder()
    builder.input("x", "w")
    for _ in range(3):
        builder.kernel("h", "x" if "h" not in builder.names else "h", "w")
    assert body(program_of("", builder.build("h"))) == [
        "h = torch.mm(x, w)",
        "h = torch.mm(h, w)",
        "h = torch.mm(h, w)",
        "return (h,)",
    ]


def test_a_parameter_is_bound_again_only_when_it_is_needed_no_more() -> None:
    builder = TraceBuilder()
    builder.input("x", "w")
    builder.names["first"] = builder.names["x"]
    builder.kernel("x", "x", "w")
    builder.kernel("y", "x", "first")
    builder.kernel("x", "y", "x")
    assert body(program_of("", builder.build("x"))) == [
        "x_1 = torch.mm(x, w)",
        "y = torch.mm(x_1, x)",
        "x = torch.mm(y, x_1)",
        "return (x,)",
    ]


def test_two_values_of_one_name_that_live_together() -> None:
    builder = TraceBuilder()
    builder.input("x", "w")
    builder.kernel("h", "x", "w")
    builder.names["old"] = builder.names["h"]
    builder.kernel("h", "w", "x")
    builder.kernel("y", "old", "h")
    assert body(program_of("", builder.build("y"))) == [
        "h = torch.mm(x, w)",
        "h_1 = torch.mm(w, x)",
        "y = torch.mm(h, h_1)",
        "return (y,)",
    ]


def test_a_name_is_not_bound_again_before_its_memory_may_be_freed() -> None:
    """The old `h` is used on the side after the new one is made: it must keep its name until then."""
    builder = TraceBuilder()
    builder.input("x", "w")
    builder.kernel("h", "x", "w")
    builder.names["old"] = builder.names["h"]
    builder.view("v", "h")
    builder.kernel("h", "x", "x")
    builder.kernel("s", "v", "w")
    builder.kernel("z", "s", "h")
    lines = body(program_of(SIDE + 'value "s" on side\n', builder.build("z")))
    assert "h_1 = torch.mm(x, x)" in lines
    assert lines.index("h_1 = torch.mm(x, x)") < lines.index("s = torch.mm(v, w)")


def test_streams_and_events_never_take_a_name_of_the_source() -> None:
    builder = TraceBuilder()
    builder.input("x", "side")
    builder.kernel("a_done", "x", "side")
    builder.kernel("a", "x", "x")
    builder.kernel("b", "a_done", "a")
    text = generate(program_of(SIDE + 'value "a" on side\n', builder.build("b")), "npu")
    assert 'side_stream = self.scheduled_streams["side"]' in text
    assert "with torch.npu.stream(side_stream):" in text
    assert "a_done_event.record()" in text
    assert "a_done = torch.mm(x, side)" in text


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("torch", "torch_1"),
        ("F", "F_1"),
        ("max", "max_1"),
        ("l", "l_1"),
        ("types", "types_1"),
        ("_", "value"),
        ("self_", "self_"),
        ("_h", "_h"),
    ],
)
def test_locals_never_shadow_what_the_file_uses(name: str, expected: str) -> None:
    builder = TraceBuilder()
    builder.input("x", "w")
    builder.kernel(name, "x", "w")
    builder.kernel("y", name, "w")
    assert body(program_of("", builder.build("y")))[0] == f"{expected} = torch.mm(x, w)"


def test_every_alias_of_dead_memory_is_deleted() -> None:
    builder = TraceBuilder()
    builder.input("x", "w")
    builder.kernel("a", "x", "w")
    builder.view("v", "a")
    builder.kernel("b", "a", "v")
    builder.kernel("c", "b", "w")
    builder.kernel("d", "c", "w")
    lines = body(program_of("", builder.build("b", "d")))
    assert lines == [
        "a = torch.mm(x, w)",
        "v = a.view()",
        "b = torch.mm(a, v)",
        "del a, v",
        "c = torch.mm(b, w)",
        "d = torch.mm(c, w)",
        "return b, d",
    ]


def test_an_in_place_result_keeps_the_name_of_its_object() -> None:
    builder = TraceBuilder()
    builder.input("x", "w")
    builder.kernel("a", "x", "w")
    builder.kernel("other", "w", inplace="a")
    builder.kernel("y", "other", "w")
    lines = body(program_of("", builder.build("y")))
    assert lines == ["a = torch.mm(x, w)", "torch.mm(a, w)", "y = torch.mm(a, w)", "return (y,)"]


def test_unnamed_operands_are_written_where_they_are_used_in_the_order_of_issue() -> None:
    builder = TraceBuilder()
    builder.input("x", "w")
    builder.kernel("a", "x", "w")
    builder.kernel("b", "w", "x")
    builder.kernel("y", "a", "b")
    builder.kernel("c", "x", "y")
    builder.kernel("d", "w", "y")
    builder.kernel("z", "d", "c")
    trace = builder.build("z")
    values = tuple(replace(v, local=v.local if v.local in ("y", "z") else "") for v in trace.values)
    ops = tuple(replace(op, statement=index // 3) for index, op in enumerate(trace.ops))
    assert body(program_of("", replace(trace, values=values, ops=ops))) == [
        "y = torch.mm(torch.mm(x, w), torch.mm(w, x))",
        "c = torch.mm(x, y)",
        "d = torch.mm(w, y)",
        "z = torch.mm(d, c)",
        "return (z,)",
    ]


def test_the_signature_is_the_originals(planned: Planned) -> None:
    program = planned(
        """
class Model(nn.Module):
    def forward(self, x, y=None, *rest, flag=True, name="a", scale=1e-6, **options):
        return x + y
""",
        "input x, y: f32[2]\n",
    )
    text = generate(program, "npu")
    assert "def forward(self, x, y=None, *rest, flag=True, name='a', scale=1e-06, **options):" in text.replace('"', "'")


def test_only_npugraph_ex_has_compile() -> None:
    builder = TraceBuilder()
    builder.input("x")
    builder.kernel("y", "x", "x")
    program = program_of("", builder.build("y"))
    for target in ("npu", "cuda", "cpu"):
        assert "def compile" not in generate(program, target)
    assert 'backend="npugraph_ex"' in generate(program, "npugraph_ex")


def test_a_release_makes_no_generated_file_stale() -> None:
    builder = TraceBuilder()
    builder.input("x")
    builder.kernel("y", "x", "x")
    text = generate(program_of("", builder.build("y")), "npu")
    released = re.sub(r"^# streamsched: .*$", "# streamsched: 99.0", text, flags=re.MULTILINE)
    assert released != text
    assert same_generated(text, released)
    assert same_generated(text, text.replace("\n", "\r\n"))
    assert not same_generated(text, text.replace("torch.mm(x, x)", "torch.mm(x, y)"))


def called(trace: Trace, **aliases: str) -> Trace:
    """The same trace, where further locals hold some values: `x="residual"`."""
    values = tuple(replace(v, aliases=(aliases[v.name],)) if v.name in aliases else v for v in trace.values)
    return replace(trace, values=values)


def residual() -> TraceBuilder:
    """`residual = x; x = f(x); x = f(x); x = residual + x`."""
    builder = TraceBuilder()
    builder.input("x", "w")
    builder.names["first"] = builder.names["x"]
    builder.kernel("x", "x", "w")
    builder.kernel("x", "x", "w")
    builder.kernel("x", "first", "x")
    return builder


def test_what_is_needed_behind_its_name_gets_the_other_that_the_source_has() -> None:
    assert body(program_of("", called(residual().build("x"), x="residual"))) == [
        "residual = x",
        "x = torch.mm(x, w)",
        "x = torch.mm(x, w)",
        "x = torch.mm(residual, x)",
        "return (x,)",
    ]


def test_a_name_that_is_needed_is_no_other_name() -> None:
    lines = body(program_of("", called(residual().build("x"), x="w")))
    assert lines[:2] == ["x_1 = torch.mm(x, w)", "x_1 = torch.mm(x_1, w)"]


def test_an_alias_is_deleted_and_recorded_like_any_name() -> None:
    builder = TraceBuilder()
    builder.input("x", "w")
    builder.kernel("h", "x", "w")
    builder.names["first"] = builder.names["h"]
    builder.kernel("h", "h", "w")
    builder.kernel("s", "first", "h")
    builder.kernel("h", "h", "s")
    builder.kernel("y", "h", "w")
    program = program_of(SIDE + 'memory record_stream\nvalue "s" on side\n', called(builder.build("y"), h="old"))
    lines = body(program)
    assert lines.index("old = h") == lines.index("h = torch.mm(h, w)") - 1
    assert {"s = torch.mm(old, h)", "old.record_stream(side)", "h.record_stream(side)"} <= {*lines}
    assert any(re.fullmatch(r"del .*\bold\b.*", line) for line in lines)


def test_what_an_expression_leads_through_keeps_its_name() -> None:
    builder = residual()
    trace = called(builder.build("x"), x="residual")
    held = replace(trace.values[builder.names["w"]], expression="x.w")
    trace = replace(trace, values=tuple(held if v.name == "w" else v for v in trace.values))
    assert body(program_of("", trace))[0] == "x_1 = torch.mm(x, x.w)"
