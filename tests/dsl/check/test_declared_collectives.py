"""Ops that communicate in a group that is not known: declared by `collective`, or torch_npu's own."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import HEAD, program_of
from traces import TraceBuilder

from streamsched.codegen.pictures.show import show
from streamsched.dsl.check.registry import check
from streamsched.dsl.diagnostic import Diagnostic, apply_edits
from streamsched.dsl.trace.model import Trace

EXCHANGE = "my_lib.exchange.default"
FUSED = "npu.npu_mm_all_reduce_base.default"
DECLARED = 'collective op "exchange" cores aiv 8\n'


def two(target: str) -> Trace:
    t = TraceBuilder()
    t.input("x")
    t.kernel("a", "x")
    t.kernel("b", "x")
    t.kernel("out", "a", "b")
    return retargeted(t.build("out"), "ab", target)


def beside_a_group() -> Trace:
    """An op of one's own behind a collective of a process group."""
    t = TraceBuilder()
    t.input("x")
    t.collective("sum", "tp", "x")
    t.wait("s", "sum")
    t.kernel("a", "x")
    t.kernel("out", "s", "a")
    return retargeted(t.build("out"), "a", EXCHANGE)


def retargeted(trace: Trace, names: str, target: str) -> Trace:
    return replace(trace, ops=tuple(replace(op, target=target) if op.name in names else op for op in trace.ops))


def found(code: str, text: str, trace: Trace) -> list[Diagnostic]:
    return [d for d in check(program_of(text, trace)) if d.code == code]


ASIDE = 'stream side\nvalue "b" on side\nvalue "b" -> value "out"\n'


@pytest.mark.parametrize(("target", "said"), [(EXCHANGE, DECLARED), (FUSED, "")], ids=["declared", "fused"])
def test_on_two_streams_they_need_an_order(target: str, said: str) -> None:
    text = ASIDE + said
    [finding] = found("ORD107", text, two(target))
    assert finding.message == "nothing orders the collectives `a` on `default` and `b` on `side`"
    assert finding.fix is not None
    mended = apply_edits(HEAD + text, finding.fix.edits).removeprefix(HEAD)
    assert found("ORD107", mended, two(target)) == []


def test_what_nobody_declares_is_an_ordinary_kernel() -> None:
    assert found("ORD107", ASIDE, two(EXCHANGE)) == []
    assert found("ORD107", ASIDE + 'batch op "exchange"\n', two(EXCHANGE)) == []
    assert found("ORD107", DECLARED, two(EXCHANGE)) == [], "one stream orders them"


def test_sync_auto_orders_them_and_says_why() -> None:
    program = program_of('sync auto\nstream side\nvalue "b" on side\n' + DECLARED, two(EXCHANGE))
    assert [d for d in check(program) if d.code in ("ORD107", "RES101")] == []
    assert re.search(r"collectives: b \(\S+\) must not begin beside a \(\S+\) on any rank\n", show(program))


def test_one_of_an_own_beside_one_of_a_process_group() -> None:
    text = 'stream side\nvalue "a" on side\nvalue "a" -> value "out"\n'
    [finding] = found("ORD107", text + 'collective value "a"\n', beside_a_group())
    assert finding.message == "nothing orders the collectives `sum` of group tp on `default` and `a` on `side`"
    assert found("ORD107", text + 'collective value "a"\nsync auto\n', beside_a_group()) == []
    assert found("ORD107", 'collective value "a"\n', beside_a_group()) == [], "the wait comes first"


def awaited() -> Trace:
    """Three collectives, each with its wait and a copy that puts the result in place."""
    t = TraceBuilder()
    t.input("x")
    for name in "abc":
        t.collective(name, f"g{name}", "x")
        t.wait(f"{name}_there", name)
        t.kernel(f"{name}_put", f"{name}_there")
    return t.build("a_put", "b_put", "c_put")


def test_a_wait_and_a_copy_hold_no_cores() -> None:
    whole = [f"{{ {name}, {name}_there, {name}_put }}" for name in "abc"]
    text = "device mine { aic 20, aiv 40 }\nstream s1, s2\n"
    text += f"value {whole[1]} on s1\nvalue {whole[2]} on s2\n"
    both = ", ".join(f"value {names}" for names in whole)
    [finding] = found("RES101", f"{text}collective {both} cores aiv 14\n", awaited())
    [same] = found("RES101", f"{text}collective value {{ a, b, c }} cores aiv 14\n", awaited())
    assert finding.message == same.message
    assert len(found("ORD107", f"{text}collective {both}\n", awaited())) == 2


@st.composite
def communicating(draw: st.DrawFn) -> tuple[str, Trace]:
    """A random trace with collectives of a group and of one's own, and a schedule with `sync auto` that places them."""
    t = TraceBuilder()
    t.input("x")
    values, placed, own = ["x"], [], []
    for number in range(draw(st.integers(2, 8))):
        name = f"v{number}"
        reads = draw(st.lists(st.sampled_from(values), min_size=1, max_size=2, unique=True))
        stream = draw(st.sampled_from(["", "s1", "s2"]))
        kind = draw(st.sampled_from(["group", "own", "kernel"]))
        made = [name]
        if kind == "group":
            t.collective(f"c{number}", "tp", *reads)
            t.wait(name, f"c{number}")
            made = [f"c{number}", name]
        else:
            t.kernel(name, *reads)
            own += [name] if kind == "own" else []
        placed += [f"value {{ {', '.join(made)} }} on {stream}"] if stream else []
        values.append(name)
    declared = [f"collective value {{ {', '.join(own)} }} cores aiv 1"] if own else []
    return "\n".join(["stream s1, s2", "sync auto", *placed, *declared]) + "\n", t.build(values[-1])


@settings(max_examples=60, deadline=None)
@given(communicating())
def test_sync_auto_leaves_no_two_in_either_order(case: tuple[str, Trace]) -> None:
    text, trace = case
    assert {d.code for d in check(program_of(text, trace))} <= {"ORD108", "PRF101", "PRF102", "MEM104", "MEM105"}
