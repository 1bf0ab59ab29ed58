from __future__ import annotations

import pytest
from plans import plan_text, program_of
from traces import TraceBuilder

from streamsched.dsl.diagnostic import Severity, apply_edits
from streamsched.dsl.program.steps import StepKind
from streamsched.dsl.trace.model import Trace


@pytest.fixture
def layered() -> Trace:
    """Three layers of two kernels each, a view in the second, and a tail outside."""
    t = TraceBuilder()
    t.input("x")
    previous = "x"
    for layer in range(3):
        t.begin(f"layers.{layer}")
        t.begin(f"layers.{layer}.up")
        t.kernel(f"up{layer}", previous)
        t.end()
        if layer == 1:
            t.view("flat", "up1")
        t.kernel(f"down{layer}", f"up{layer}")
        t.end()
        previous = f"down{layer}"
    t.kernel("tail", previous)
    return t.build("tail")


def placed(selector: str, trace: Trace) -> list[str]:
    """The kernels that `selector` selects."""
    program = program_of(f"stream s\n{selector} on s\n", trace)
    return [step.name for step in program.steps if step.kind is StepKind.LAUNCH and step.stream == 1]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ('module "layers.1"', ["up1", "down1"]),
        ('module "layers.*.up"', ["up0", "up1", "up2"]),
        ('module "**.up"', ["up0", "up1", "up2"]),
        ('module "layers.{0,2}.up"', ["up0", "up2"]),
        ('module "layers.{1..2}.up"', ["up1", "up2"]),
        ('module "layers.0" - module "**.up"', ["down0"]),
        ('module "layers.0" & module "**.up"', ["up0"]),
        ('value "up0" .. value "down1"', ["up0", "down0", "up1", "down1"]),
        ('module "layers.*"[0]', ["up0"]),
        ('module "layers.*"[-1]', ["down2"]),
        ('module "layers.*"[0:2]', ["up0", "down0"]),
        ('node "tail"', ["tail"]),
        ('line "model.py:10-11"', ["up0", "down0"]),
        ('op "mm" - module "layers.*"', ["tail"]),
        ('op "aten.mm" & value "tail"', ["tail"]),
        ('op "aten.mm.default" & value "tail"', ["tail"]),
        ('(value "up0" | value "tail") - value "tail"', ["up0"]),
    ],
)
def test_selectors(selector: str, expected: list[str], layered: Trace) -> None:
    assert placed(selector, layered) == expected


def test_module_called_twice_is_told_apart_by_occurrence() -> None:
    t = TraceBuilder()
    t.input("x")
    for name in ("first", "second"):
        t.begin("sub")
        t.kernel(name, "x")
        t.end()
    trace = t.build("first", "second")
    assert placed('module "sub"', trace) == ["first"]
    assert placed('module "sub@1"', trace) == ["second"]
    assert placed('module "sub*"', trace) == ["first", "second"]


def test_index_of_a_value_counts_statements() -> None:
    t = TraceBuilder()
    t.input("x")
    t.kernel("h", "x")
    t.kernel("k", "h")
    t.kernel("h", "k")
    trace = t.build("h")
    assert placed('value "h"[0]', trace) == ["h"]
    assert placed('value "h"[-1]', trace) == ["h_3"]
    assert placed('value "h"', trace) == ["h", "h_3"]


def test_nothing_matched_names_the_nearest_and_offers_it(layered: Trace) -> None:
    text = 'stream s\nmodule "layers.1.upp" on s\n'
    (found,) = plan_text(text, layered).diagnostics
    assert (found.code, found.span.line, found.span.column) == ("SEL101", 4, 1)
    assert "layers.1.up" in found.notes[0]
    assert found.fix is not None
    assert found.fix.edits[0].text == 'module "layers.1.up"'


def test_a_module_that_issues_no_op_is_told_as_such_and_not_proposed() -> None:
    t = TraceBuilder()
    t.input("x")
    t.begin("drop")
    t.end()
    t.kernel("out", "x")
    trace = t.build("out")
    (found,) = plan_text('stream s\nmodule "drop" on s\n', trace).diagnostics
    assert (found.code, found.fix, found.notes) == ("SEL101", None, ())
    assert found.message == '`module "drop"` matches no op: the module `drop` is called, but issues no op'
    (found,) = plan_text('stream s\nmodule "drp" on s\n', trace).diagnostics
    assert found.fix is None and "drop" not in f"{found.notes} {found.help}"


@pytest.mark.parametrize(
    "selector",
    [
        'value "nope"',
        'op "nope"',
        'node "nope"',
        'line "model.py:900-901"',
        'module "layers.0" & module "layers.1"',
        'value "up0"[7]',
        'value "tail" .. value "up0"',
    ],
)
def test_each_kind_of_selector_reports_that_it_matches_nothing_once(selector: str, layered: Trace) -> None:
    planned = plan_text(f"stream s\n{selector} on s\n", layered)
    assert planned.program is None
    assert [d.code for d in planned.diagnostics] == ["SEL101"]


def test_one_missing_value_of_several_is_reported_at_its_name(layered: Trace) -> None:
    planned = plan_text("stream s\nvalue { up0, dwon0 } on s\n", layered)
    (found,) = planned.diagnostics
    assert (found.code, found.span.column) == ("SEL101", 14)
    assert "down0" in found.notes[0]


def test_op_on_two_streams_shows_both_placements_and_the_op(layered: Trace) -> None:
    planned = plan_text('stream s, t\nmodule "layers.0" on s\nvalue "up0" on t\n', layered)
    assert planned.program is None
    (found,) = planned.diagnostics
    assert (found.code, found.span.line) == ("SEL102", 5)
    assert [(r.span.file, r.span.line) for r in found.related] == [("test.sched", 4), ("model.py", 10)]


def test_placing_an_op_twice_on_one_stream_is_fine(layered: Trace) -> None:
    assert placed('module "layers.0", value "up0"', layered) == ["up0", "down0"]


def test_edge_between_groups_that_share_a_kernel(layered: Trace) -> None:
    planned = plan_text('module "layers.0" -> value "down0"\n', layered)
    assert [d.code for d in planned.diagnostics] == ["SEL103"]
    assert planned.program is None


def test_edge_without_a_kernel_at_one_end_is_a_warning(layered: Trace) -> None:
    planned = plan_text('value "up0" -> value "flat"\n', layered)
    assert [(d.code, d.severity) for d in planned.diagnostics] == [("SEL104", Severity.WARNING)]
    assert planned.program is not None
    assert planned.program.required == ()


def test_a_node_selector_is_fragile_and_the_fix_keeps_its_meaning(layered: Trace) -> None:
    text = 'schedule test\nmodel "model.py:Model"\nstream s\nnode "tail" on s\n'
    (found,) = plan_text('stream s\nnode "tail" on s\n', layered).diagnostics
    assert (found.code, found.severity) == ("SEL107", Severity.INFO)
    assert found.fix is not None
    assert found.fix.safe
    assert apply_edits(text, found.fix.edits).splitlines()[-1] == 'value "tail" on s'
