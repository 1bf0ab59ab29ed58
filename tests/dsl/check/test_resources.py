"""RES: what the device has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from plans import HEAD, program_of
from traces import TraceBuilder

from streamsched.dsl.check.registry import check
from streamsched.dsl.diagnostic import Diagnostic, Severity, apply_edits
from streamsched.dsl.pipeline import load
from streamsched.dsl.trace.model import Trace

EXAMPLES = Path(__file__).parents[3] / "examples"

THREE = """\
value "a" on s1
value "b" on s2
value "c" on s3
"""
LIMITED = """\
stream s1 { cores aiv 16 }
stream s2, s3 { cores aiv 24 }
"""


def three_collectives() -> Trace:
    """Collectives of three groups, which nothing orders."""
    t = TraceBuilder()
    t.input("x")
    for name in "abc":
        t.collective(name, f"g{name}", "x")
    for name in "abc":
        t.wait(f"{name}_done", name)
    return t.build("a_done", "b_done", "c_done")


def around_a_kernel(target: str) -> Trace:
    """Two collectives, and a kernel with the given target."""
    t = TraceBuilder()
    t.input("x")
    t.collective("a", "ga", "x")
    t.kernel("k", "x")
    t.collective("b", "gb", "x")
    t.wait("a_done", "a")
    t.wait("b_done", "b")
    return retargeted(t.build("a_done", "b_done", "k"), "k", target)


def retargeted(trace: Trace, name: str, target: str) -> Trace:
    ops = tuple(replace(op, target=target) if op.name == name else op for op in trace.ops)
    return replace(trace, ops=ops)


def found(code: str, text: str, trace: Trace, target: str | None = None) -> list[Diagnostic]:
    return [d for d in check(program_of(text, trace, target)) if d.code == code]


def test_three_collectives_of_which_each_two_fit() -> None:
    [finding] = found("RES101", f"device ascend910b1\n{LIMITED}{THREE}", three_collectives())
    assert finding.severity is Severity.ERROR
    assert finding.message == (
        "`a` on `s1`, `b` on `s2` and `c` on `s3` may run at once, and want 64 vector cores: Ascend910B1 has 48"
    )
    assert [(place.span.line, place.message) for place in finding.related] == [
        (10, "holds 16 vector cores while it waits for other ranks"),
        (11, "holds 24 vector cores while it waits for other ranks"),
        (12, "holds 24 vector cores while it waits for other ranks"),
    ]
    assert finding.notes == ("ranks that give their cores to different ones of them wait for each other for ever",)
    assert finding.help is not None and "cores aiv N" in finding.help


def test_each_two_of_them_fit() -> None:
    text = f'device ascend910b1\n{LIMITED}value "b" on s2\nvalue "c" on s3\nvalue "a" on s1\nvalue "a" -> value "b"\n'
    assert found("RES101", text, three_collectives()) == []
    assert found("RES101", f"device mine {{ aic 1, aiv 64 }}\n{LIMITED}{THREE}", three_collectives()) == []


def test_the_fix_orders_two_of_them() -> None:
    text = f"device ascend910b1\n{LIMITED}{THREE}"
    [finding] = found("RES101", text, three_collectives())
    assert finding.fix is not None and finding.fix.message == 'declare the edge `value "a" -> value "b"`'
    mended = apply_edits(HEAD + text, finding.fix.edits).removeprefix(HEAD)
    assert found("RES101", mended, three_collectives()) == []


def test_a_collective_without_a_limit_takes_the_device() -> None:
    text = "device ascend910b1\nstream s1 { cores aiv 16 }\nstream s2, s3\n"
    trace = three_collectives()
    first, *_ = found("RES101", text + THREE, trace)
    assert first.message == "`b` on `s2` and `c` on `s3` may run at once, and want 96 vector cores: Ascend910B1 has 48"
    assert {place.message for place in first.related} == {"holds all vector cores while it waits for other ranks"}


def test_what_is_said_of_a_collective_counts() -> None:
    text = f"device ascend910b1\nstream s1, s2, s3\n{THREE}collective value {{ a, b, c }} cores aiv "
    assert found("RES101", f"{text}16\n", three_collectives()) == []
    assert len(found("RES101", f"{text}17\n", three_collectives())) == 1


def test_nonzero_between_two_collectives() -> None:
    text = """\
device ascend910b1
stream s1 { cores aiv 16 }
stream s2 { cores aiv 24 }
stream s3
value "a" on s1
value "b" on s2
value "k" on s3
"""
    trace = around_a_kernel("aten.nonzero.default")
    [finding] = found("RES101", text, trace)
    assert "want 88 vector cores: Ascend910B1 has 48" in finding.message
    assert "holds all vector cores from the moment when they are all free" in [r.message for r in finding.related]
    assert found("RES101", text.replace("stream s3", "stream s3 { cores aiv 8 }"), trace) == []
    assert found("RES101", text, around_a_kernel("aten.mm.default")) == [], "an ordinary kernel weighs nothing"
    declared = f'{text}batch value "k"\n'
    assert len(found("RES101", declared, around_a_kernel("custom.op.default"))) == 1
    assert found("RES101", f"{declared[:-1]} cores aiv 8\n", around_a_kernel("custom.op.default")) == []


def test_one_collective_and_an_op_in_batch_mode_only_wait_for_each_other_in_turn() -> None:
    t = TraceBuilder()
    t.input("x")
    t.collective("a", "ga", "x")
    t.kernel("k", "x")
    t.wait("a_done", "a")
    trace = retargeted(t.build("a_done", "k"), "k", "aten.nonzero.default")
    assert found("RES101", 'device ascend910b1\nstream s\nvalue "k" on s\n', trace) == []


def test_communication_fused_with_a_product_holds_cube_cores() -> None:
    t = TraceBuilder()
    t.input("x")
    t.kernel("a", "x")
    t.kernel("b", "x")
    trace = t.build("a", "b")
    for name in "ab":
        trace = retargeted(trace, name, "npu.npu_mm_all_reduce_base.default")
    text = "device ascend910b3\nstream s { cores aic 8, aiv 16 }\nstream default { cores aic 16, aiv 24 }\n"
    [finding] = found("RES101", f'{text}value "b" on s\n', trace)
    assert finding.message.endswith("want 24 cube cores: Ascend910B3 has 20")


def test_without_a_device_what_no_device_has_is_found() -> None:
    [finding, *_] = found("RES101", f"stream s1, s2, s3\n{THREE}", three_collectives())
    assert (
        finding.message == "`a` on `s1` and `b` on `s2` may run at once, and want more vector cores than any device has"
    )
    assert found("RES101", LIMITED + THREE, three_collectives()) == []
    assert found("RES101", f"stream s1, s2, s3\n{THREE}", three_collectives(), "cuda") == []


def test_a_collective_on_a_side_stream_of_a_mixture_of_experts() -> None:
    """The routed experts' and the shared expert's parts are each summed over the ranks, on two streams."""
    t = TraceBuilder()
    t.input("x")
    t.kernel("shared", "x")
    t.collective("shared_sum", "world", "shared")
    t.kernel("routed", "x")
    t.collective("routed_sum", "world", "routed")
    t.wait("s", "shared_sum")
    t.wait("r", "routed_sum")
    t.kernel("merge", "s", "r")
    text = "device ascend910b3\nstream side\nvalue { shared, shared_sum } on side\n"
    trace = t.build("merge")
    [finding] = found("RES101", text, trace)
    assert finding.message == (
        "`shared_sum` on `side` and `routed_sum` on `default` may run at once, and want 80 vector cores: "
        "Ascend910B3 has 40"
    )
    assert finding.fix is not None
    mended = apply_edits(HEAD + text, finding.fix.edits).removeprefix(HEAD)
    assert found("RES101", mended, trace) == []


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*/*.sched")), ids=lambda path: path.stem)
def test_examples_have_no_error(path: Path) -> None:
    codes = {d.code for d in load(str(path)).diagnostics if d.severity is not Severity.INFO}
    assert not {code for code in codes if code.startswith(("RES", "PRF"))}


def simple() -> Trace:
    t = TraceBuilder()
    t.input("x")
    for name in "abc":
        t.kernel(name, "x")
    return t.build("a", "b", "c")


def test_a_limit_above_the_device() -> None:
    text = 'device ascend910b3\nstream s {{ cores aic {}, aiv {} }}\nvalue "a" on s\n'
    first, second = found("RES102", text.format(24, 48), simple())
    assert first.message == "`s` may use 24 cube cores, and Ascend910B3 has 20"
    assert second.message == "`s` may use 48 vector cores, and Ascend910B3 has 40"
    assert (first.severity, first.span.line) == (Severity.WARNING, 4)
    assert found("RES102", text.format(20, 40), simple()) == []
    assert found("RES102", text.format(24, 48).replace("device ascend910b3\n", ""), simple()) == []


def test_an_op_that_is_said_to_hold_more_than_there_is() -> None:
    text = 'device ascend910b3\n{} value "a" cores aiv {}\n'
    for kind in ("collective", "batch"):
        (one,) = found("RES102", text.format(kind, 99), simple())
        assert one.message == "an op is said to hold 99 vector cores, and Ascend910B3 has 40"
        assert found("RES102", text.format(kind, 40), simple()) == []


def test_cores_promised_to_streams_that_run_at_once() -> None:
    text = 'device ascend910b3\nstream p, q {{ cores aic {} }}\nvalue "a" on p\nvalue "b" on q\n'
    [finding] = found("RES103", text.format(16), simple())
    assert finding.message == "16 to `p` and 16 to `q` are more cube cores than the 20 of Ascend910B3"
    assert finding.severity is Severity.WARNING
    assert found("RES103", text.format(10), simple()) == []
    ordered = text.format(16) + 'value "a" -> value "b"\n'
    assert found("RES103", ordered, simple()) == [], "streams that take turns may each have most cores"


def many(streams: int) -> str:
    names = ", ".join(f"s{number}" for number in range(streams))
    return f'stream {names}\nvalue "a" on s0\n'


def test_more_streams_than_the_pool_holds() -> None:
    [finding] = found("RES104", many(34), simple())
    assert finding.message == "34 streams are 2 more than the pool holds: `s32` is `s0` again"
    assert finding.severity is Severity.WARNING
    assert found("RES104", many(32), simple()) == []


def test_the_streams_of_all_graphs() -> None:
    text = 'stream p, q\nvalue "a" on p\nvalue "b" on q\ngraphs {}\n'
    [finding] = found("RES105", text.format(683), simple(), "npugraph_ex")
    assert finding.message == "683 graphs with 3 streams each need 2,049 streams, and there are 2,048"
    assert finding.help is not None and finding.help.startswith("capture 682 graphs or fewer")
    assert finding.severity is Severity.ERROR
    assert found("RES105", text.format(682), simple(), "npugraph_ex") == []
    assert found("RES105", text.format(683), simple(), "npu") == [], "nothing is captured"
    own = "device mine { aic 1, aiv 2, streams 30 }\n"
    assert len(found("RES105", own + text.format(11), simple(), "npugraph_ex")) == 1
    assert found("RES105", own + text.format(10), simple(), "npugraph_ex") == [], "just enough"
