"""Text to tree: values, spans, where statements end, and what may be a name."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

import pytest

from streamsched.dsl.diagnostic import Span
from streamsched.dsl.syntax.parser import parse
from streamsched.dsl.syntax.tree import (
    BeforeStatement,
    DifferenceSelector,
    EdgeStatement,
    GroupSelector,
    GroupStatement,
    IndexSelector,
    InputStatement,
    IntersectionSelector,
    LineSelector,
    ModelStatement,
    ModuleSelector,
    PlacementStatement,
    RangeSelector,
    Selector,
    Statement,
    StreamStatement,
    UnionSelector,
    ValueSelector,
)


def statement(text: str) -> Statement:
    parsed = parse(text, "f.sched")
    assert parsed.complete, parsed.diagnostics
    (only,) = parsed.schedule.statements
    return only


def selector(text: str) -> Selector:
    group = statement(f"group g = {text}")
    assert isinstance(group, GroupStatement)
    return group.selector


def covered(text: str, span: Span) -> str:
    """The text of a span."""
    lines = text.split("\n")[span.line - 1 : span.end_line]
    lines[-1] = lines[-1][: span.end_column - 1]
    lines[0] = lines[0][span.column - 1 :]
    return "\n".join(lines)


def test_input_specs_need_no_separator_but_the_comma() -> None:
    parsed = statement("input a, b: f16[4, 4], ids: i64[1, n,]; s: bool[]")
    assert isinstance(parsed, InputStatement)
    assert [([n.text for n in s.names], s.dtype, s.dims) for s in parsed.specs] == [
        (["a", "b"], "f16", (4, 4)),
        (["ids"], "i64", (1, "n")),
        (["s"], "bool", ()),
    ]


@pytest.mark.parametrize(
    "options",
    [
        "priority -1; cores aic 8, aiv 16",
        "cores aiv 16, aic 8,; priority -1;",
        "priority -1 cores aic 8, aiv 16",
        "\n  priority -1\n  cores aic 8, # cube\n    aiv 16\n",
    ],
)
def test_stream_options(options: str) -> None:
    parsed = statement(f"stream a, b {{ {options} }}")
    assert isinstance(parsed, StreamStatement)
    assert ([n.text for n in parsed.names], parsed.priority, parsed.aic, parsed.aiv) == (["a", "b"], -1, 8, 16)


def test_options_not_given_are_none() -> None:
    parsed = statement("stream a { cores aic 8 }")
    assert isinstance(parsed, StreamStatement)
    assert (parsed.priority, parsed.aic, parsed.aiv) == (None, 8, None)


def test_the_last_colon_separates_file_and_attribute() -> None:
    parsed = statement(r'model "C:\\models\\model.py:Net.build"')
    assert isinstance(parsed, ModelStatement)
    assert (parsed.file, parsed.attribute) == (r"C:\models\model.py", "Net.build")


@pytest.mark.parametrize(("written", "microseconds"), [("120us", 120), ("1.5ms", 1500), ("2s", 2e6), ("500ns", 0.5)])
def test_durations_are_in_microseconds(written: str, microseconds: float) -> None:
    assert statement(f"cost g = {written}").microseconds == pytest.approx(microseconds)  # type: ignore[union-attr]


def test_precedence_from_index_to_difference() -> None:
    parsed = selector("a | b[0] .. c & d - e")
    assert isinstance(parsed, DifferenceSelector)
    assert isinstance(parsed.left, UnionSelector)
    assert isinstance(parsed.left.right, IntersectionSelector)
    assert isinstance(parsed.left.right.left, RangeSelector)
    assert isinstance(parsed.left.right.left.first, IndexSelector)


def test_sums_and_products_associate_to_the_left() -> None:
    assert selector("a - b - c") == selector("(a - b) - c") != selector("a - (b - c)")
    assert selector("a & b & c") == selector("(a & b) & c")


@pytest.mark.parametrize(
    ("written", "start", "stop", "slice"),
    [
        ("[0]", 0, None, False),
        ("[-1]", -1, None, False),
        ("[1:3]", 1, 3, True),
        ("[:2]", None, 2, True),
        ("[-2:]", -2, None, True),
        ("[:]", None, None, True),
    ],
)
def test_indices(written: str, start: int | None, stop: int | None, slice: bool) -> None:
    parsed = selector(f'value "x"{written}')
    assert isinstance(parsed, IndexSelector)
    assert (parsed.start, parsed.stop, parsed.slice) == (start, stop, slice)


def test_values_quoted_and_bare() -> None:
    parsed = selector('value { a, "b c", }')
    assert isinstance(parsed, ValueSelector)
    assert ([name.text for name in parsed.names], parsed.braces) == (["a", "b c"], True)


@pytest.mark.parametrize(("written", "first", "last"), [("m.py:31-40", 31, 40), ("C:/m.py:7", 7, 7)])
def test_lines(written: str, first: int, last: int) -> None:
    parsed = selector(f'line "{written}"')
    assert isinstance(parsed, LineSelector)
    assert (parsed.first, parsed.last) == (first, last)


def test_escapes_in_strings() -> None:
    parsed = selector(r'module "a\"b\\c"')
    assert isinstance(parsed, ModuleSelector)
    assert parsed.glob == 'a"b\\c'


KEYWORDS = [
    *("schedule", "model", "fakes", "scope", "input", "inputs", "leaf", "target", "device", "sync", "memory", "stream"),
    *("group", "world", "cost", "module", "op", "node", "line", "value", "from", "class", "explicit", "auto"),
    *("record_stream", "join", "priority", "cores", "aic", "aiv", "trace", "compiled", "eager"),
    *("graphs", "batch", "collective", "mhz", "bandwidth", "streams"),
]


@pytest.mark.parametrize("word", KEYWORDS)
def test_keywords_may_be_names(word: str) -> None:
    text = f"{word} on {word}\n{word}, {word} -> {word}\n{word}[0] before {word}\ngroup {word} = {word}\nstream {word}"
    parsed = parse(text, "f")
    assert parsed.complete, parsed.diagnostics
    kinds = [type(s) for s in parsed.schedule.statements]
    assert kinds == [PlacementStatement, EdgeStatement, BeforeStatement, GroupStatement, StreamStatement]


@pytest.mark.parametrize("word", ["on", "before"])
@pytest.mark.parametrize(
    "text", ["stream {}", "group {} = a", "a on {}", "group a = {}", "schedule {}", "value {{ {} }} on a"]
)
def test_on_and_before_are_no_names(word: str, text: str) -> None:
    parsed = parse(text.format(word), "f")
    assert not parsed.complete
    assert parsed.diagnostics[0].message == f"`{word}` is a keyword and cannot be a name"


@pytest.mark.parametrize(
    "text",
    [
        "a,\nb on s",
        "a ->\n\n  b",
        "a -> # why\n # and\n b",
        "group g = a |\nb",
        "group g =\na &\nb -\nc ..\nd",
        "group g = (\na\n|\nb\n)[\n0\n]",
        "stream s {\n priority 1\n}",
        "input a,\n b: f16[\n 4,\n 4\n ],\n c: f16[]",
        "value {\n a,\n b,\n} on s",
        "a,\ngroup on s",
    ],
)
def test_statements_go_on_behind_a_newline(text: str) -> None:
    statement(text)


def test_a_statement_ends_at_its_line() -> None:
    parsed = parse("a\non s", "f")
    assert [(d.span.line, d.message) for d in parsed.diagnostics] == [
        (1, "expected `before`, `on` or `->`, found the end of the statement"),
        (2, "a statement cannot begin with `on`"),
    ]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_newlines_of_any_kind(newline: str) -> None:
    text = newline.join(["# c", "schedule x", 'model "m:b"', "a,", "b on", "c -> d"])
    parsed = parse(text, "f")
    assert [s.span.line for s in parsed.schedule.statements] == [2, 3, 6]
    assert [(d.span.line, d.span.column) for d in parsed.diagnostics] == [(5, 5), (6, 1), (6, 6)]
    assert parsed.schedule.comments[0].text == "# c"


def test_a_byte_order_mark_and_tabs_are_space() -> None:
    parsed = parse('\ufeffschedule\tx\n\tmodel\t"m:b"\t\n\f\n', "f")
    assert not parsed.diagnostics
    assert [s.span.column for s in parsed.schedule.statements] == [2, 2]


def test_hash_in_a_string_is_no_comment() -> None:
    parsed = parse('model "a#b.py:c" # real', "f")
    assert [comment.text for comment in parsed.schedule.comments] == ["# real"]
    assert parsed.schedule.statements == (ModelStatement("a#b.py", "c", span=parsed.schedule.span),)


def test_comments_know_whether_they_stand_alone() -> None:
    parsed = parse("\ufeff# a\nschedule x # b  \n\t # c\nstream a, # d\n b\n# e", "f")
    assert [(c.text, c.own_line) for c in parsed.schedule.comments] == [
        ("# a", True),
        ("# b", False),
        ("# c", True),
        ("# d", False),
        ("# e", True),
    ]


def test_the_schedule_spans_the_whole_text() -> None:
    assert parse("schedule x\n  ", "f").schedule.span == Span("f", 1, 1, 2, 3)


def test_spans_of_statements_and_names() -> None:
    text = "stream a,  bb { priority 1;\n  cores aic 2 }\n\tinput  x, y: f16[2], z : i64[ 1 ]  # c\n a , bb on  s"
    parsed = parse(text, "f")
    stream, inputs, placement = parsed.schedule.statements
    assert covered(text, stream.span) == text[: text.index("}") + 1]
    assert isinstance(stream, StreamStatement) and isinstance(inputs, InputStatement)
    assert [covered(text, name.span) for name in stream.names] == ["a", "bb"]
    assert covered(text, inputs.span) == "input  x, y: f16[2], z : i64[ 1 ]"
    assert [covered(text, spec.span) for spec in inputs.specs] == ["x, y: f16[2]", "z : i64[ 1 ]"]
    assert [covered(text, spec.dtype_span) for spec in inputs.specs if spec.dtype_span] == ["f16", "i64"]
    assert isinstance(placement, PlacementStatement)
    assert [covered(text, part.span) for part in placement.selectors] == ["a", "bb"]
    assert covered(text, placement.stream.span) == "s"
    assert covered(text, parsed.schedule.comments[0].span) == "# c"


def test_spans_of_selectors() -> None:
    text = 'group g = (module "a" |\n  b)[ 0 ] .. value { c, "d" } & (x)'
    parsed = parse(text, "f").schedule.statements[0]
    assert isinstance(parsed, GroupStatement)
    both = parsed.selector
    assert isinstance(both, IntersectionSelector)
    assert covered(text, both.span) == text[text.index("(") :]
    assert isinstance(both.right, GroupSelector)
    assert covered(text, both.right.span) == "x"
    reach = both.left
    assert isinstance(reach, RangeSelector)
    assert isinstance(reach.first, IndexSelector) and isinstance(reach.last, ValueSelector)
    assert covered(text, reach.span) == '(module "a" |\n  b)[ 0 ] .. value { c, "d" }'
    assert covered(text, reach.first.span) == '(module "a" |\n  b)[ 0 ]'
    assert covered(text, reach.first.operand.span) == 'module "a" |\n  b'
    assert [covered(text, name.span) for name in reach.last.names] == ["c", '"d"']


def test_every_node_has_a_span_inside_its_parents() -> None:
    text = 'a, b[0] -> (c | d) & op "x" ->\n value { e, f } - node "g"\ninput a, b: f16[1]'

    def check(node: object, outer: Span) -> None:
        if isinstance(node, tuple):
            for item in node:
                check(item, outer)
        elif is_dataclass(node):
            span = node.span  # type: ignore[attr-defined]
            assert (outer.line, outer.column) <= (span.line, span.column) < (span.end_line, span.end_column)
            assert (span.end_line, span.end_column) <= (outer.end_line, outer.end_column)
            for field in fields(node):
                check(getattr(node, field.name) if field.name not in ("span", "dtype_span") else None, span)

    schedule = parse(text, "f").schedule
    check(schedule.statements, schedule.span)
