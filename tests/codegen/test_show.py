"""The table of a program: short for small programs, a summary for large ones, and every sync and lifetime explained."""

from __future__ import annotations

from plans import program_of
from traces import TraceBuilder

from streamsched.codegen.pictures.show import show
from streamsched.dsl.program.edit import without
from streamsched.dsl.program.steps import Program, StepKind

EXPLICIT = """stream s, t
group a = value "a"
group b = value "b"
group c = value "c"
b on s
c on t
a -> b -> c
"""


def small(schedule: str) -> Program:
    builder = TraceBuilder()
    builder.input("x", "w")
    builder.kernel("a", "x", "w")
    builder.kernel("b", "a", "w")
    builder.kernel("c", "x", "w")
    builder.kernel("d", "x", "x")
    return program_of(schedule, builder.build("b", "c", "d"))


def section(text: str, title: str) -> list[str]:
    lines = text.split(f"\n{title}\n")[1].split("\n\n")[0]
    return [line.strip() for line in lines.splitlines()]


def test_each_op_and_sync_stands_in_its_streams_column() -> None:
    lines = show(small(EXPLICIT)).splitlines()
    header = next(line for line in lines if line.split() == ["default", "s", "t"])
    column = {name: header.index(f" {name} ") + 1 if name != "t" else header.index(" t") + 1 for name in header.split()}
    cells = [(line.split()[0] if line[0].isdigit() else "", line) for line in lines[3:12]]
    for word, stream in (("a = mm", "default"), ("b = mm", "s"), ("c = mm", "t"), ("-> b_done", "t")):
        (line,) = [line for _, line in cells if word in line]
        assert line.index(word) == column[stream], line
    assert lines[0] == "test for npugraph_ex: 3 streams, 4 kernels, 3 events, 3 waits"


def test_it_says_why_each_wait_is_there() -> None:
    why = section(show(small(EXPLICIT)), "syncs: why")
    assert why == [
        "a_done: s waits for default",
        "edge a -> b (test.sched:9:1): they share a",
        "b_done: t waits for s",
        "edge b -> c (test.sched:9:1): order only, they share no data",
        "c_done: default waits for t",
        "exit: forward() must not end before t does",
    ]


def test_a_data_dependency_names_both_ends() -> None:
    why = section(show(small('sync auto\nstream s\nvalue "b" on s\n')), "syncs: why")
    assert "RAW on a: b reads what a wrote" in [
        line.replace(" (model.py:10)", "").replace(" (model.py:11)", "") for line in why
    ]


def test_it_says_what_protects_each_lifetime() -> None:
    program = small(EXPLICIT)
    assert "a: home default, used by s; record_stream on s" in section(show(program), "lifetimes across streams")
    (mark,) = [i for i, step in enumerate(program.steps) if step.kind is StepKind.RECORD_STREAM]
    unsafe = section(show(without(program, mark)), "lifetimes across streams")
    assert "a: home default, used by s; NOT SAFE" in unsafe


def test_a_wait_that_proves_a_lifetime_is_named() -> None:
    builder = TraceBuilder()
    builder.input("x")
    builder.kernel("a", "x")
    builder.kernel("b", "a")
    builder.kernel("c", "b")
    builder.kernel("d", "c")
    text = show(program_of('sync auto\nstream s\nvalue "b" on s\n', builder.build("d")))
    proved = section(text, "lifetimes across streams")
    assert "a: home default, used by s; safe: default waits for b_done before it reuses it" in proved


def test_thousands_of_ops_are_summarised() -> None:
    builder = TraceBuilder()
    builder.input("h")
    for layer in range(100):
        builder.begin(f"layer{layer}")
        for _ in range(30):
            builder.kernel("h", "h")
        builder.end()
    builder.kernel("side", "h")
    trace = builder.build("h", "side")
    text = show(program_of('sync auto\nstream s\nvalue "side" on s\n', trace))
    assert len(text.splitlines()) < 30
    assert "(3000 ops)" in text


def test_it_is_plain_text_and_deterministic() -> None:
    text = show(small(EXPLICIT))
    assert text == show(small(EXPLICIT)) and text.isascii() and text.endswith("\n")
    assert not [line for line in text.splitlines() if line != line.rstrip()]
