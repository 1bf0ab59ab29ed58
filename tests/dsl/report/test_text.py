from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from streamsched.dsl.diagnostic import Diagnostic, Edit, Fix, Severity, Span
from streamsched.dsl.report import text
from streamsched.dsl.report.report import Report

Read = Callable[[str], str | None]

MISSING_EDGE = """\
error[ORD101] missing-edge: `mm` on `side` reads `B` before it is written
 --> overlap.sched:5:1
  |
5 | mm on side
  | ^^^^^^^^^^
  |
 ::: model.py:2:5
  |
2 |     B = (
  |     -----
3 |         x
  |         -
4 |         + y
  |         ---
5 |     )
  |     - `B` is written here, on `default`
  |
 ::: model.py:6:12
  |
6 |     return torch.mm(B, y)
  |            -------------- and read here, on `side`
  |
  = note: nothing orders the two streams:
          default: B
          side: mm
  = help: order them
  = fix: add the edge `b -> mm`
  |
6 + b -> mm

"""


def test_a_diagnostic_with_everything(missing_edge: Diagnostic, read: Read) -> None:
    assert text.render(Report((missing_edge,), read)) == MISSING_EDGE


def test_colour_adds_only_escape_sequences(missing_edge: Diagnostic, read: Read) -> None:
    coloured = text.render(Report((missing_edge,), read), colour=True)
    assert coloured.startswith("\x1b[1;31merror[ORD101]\x1b[0m")
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == MISSING_EDGE


def test_nothing_found_prints_nothing(read: Read) -> None:
    assert text.render(Report((), read)) == ""


def test_a_file_that_cannot_be_read_is_named_without_excerpt(missing_edge: Diagnostic) -> None:
    shown = text.render(Report((replace(missing_edge, fix=None, help=None, notes=()),)))
    assert shown == (
        "error[ORD101] missing-edge: `mm` on `side` reads `B` before it is written\n"
        " --> overlap.sched:5:1\n"
        " ::: model.py:2:5\n"
        "  = note: `B` is written here, on `default`\n"
        " ::: model.py:6:12\n"
        "  = note: and read here, on `side`\n\n"
    )


def shown(source: str, span: Span, fix: Fix | None = None) -> list[str]:
    """The lines under the arrow of a warning at `span`, and the fix's."""
    diagnostic = Diagnostic("SYN101", "syntax-error", Severity.WARNING, "wrong", span, fix=fix)
    return text.render(Report((diagnostic,), lambda file: source)).splitlines()[2:-1]


@pytest.mark.parametrize(
    ("source", "columns", "expected"),
    [
        ("\ta on s", (2, 3), ["  |", "1 |     a on s", "  |     ^"]),
        ("a\t on s", (2, 3), ["  |", "1 | a    on s", "  |  ^^^"]),
        ("日本 on s", (4, 6), ["  |", "1 | 日本 on s", "  |      ^^"]),
        ("e\u0301 on s", (4, 6), ["  |", "1 | e\u0301 on s", "  |   ^^"]),
        ("a on s", (7, 7), ["  |", "1 | a on s", "  |       ^"]),
        ("a on s", (40, 50), ["  |", "1 | a on s", "  |       ^"]),
        ("a \x1b[31m s", (3, 4), ["  |", "1 | a ␛[31m s", "  |   ^"]),
    ],
    ids=["tab", "tab inside", "wide", "combining", "end of line", "past the line", "escape"],
)
def test_marks_stand_under_the_place(source: str, columns: tuple[int, int], expected: list[str]) -> None:
    assert shown(source, Span("f.sched", 1, columns[0], 1, columns[1])) == expected


def test_a_span_past_the_end_is_shown_at_the_end() -> None:
    assert shown("a on s\nb on", Span("f.sched", 9, 3, 9, 4)) == ["  |", "2 | b on", "  |     ^"]


def test_an_empty_file_has_no_excerpt() -> None:
    assert shown("", Span("f.sched", 1, 1, 1, 1)) == []


def test_only_newlines_separate_lines() -> None:
    assert shown("# a\x0cb\u2028c\n\nhere", Span("f.sched", 3, 1, 3, 5))[1:] == ["3 | here", "  | ^^^^"]


def test_a_span_that_ends_in_the_first_column_leaves_out_that_line() -> None:
    assert shown("a on s\nb on s\n", Span("f.sched", 1, 1, 2, 1)) == ["  |", "1 | a on s", "  | ^^^^^^"]


def test_the_middle_of_a_long_span_is_left_out() -> None:
    lines = shown("".join(f"line {n}\n" for n in range(1, 100)), Span("f.sched", 8, 1, 90, 8))
    assert lines[1:-2:2] == [" 8 | line 8", " 9 | line 9", "10 | line 10", "11 | line 11", "..."]
    assert lines[-2:] == ["90 | line 90", "   | ^^^^^^^"]


def test_a_long_line_is_cut_to_a_window_around_the_place() -> None:
    lines = shown("x" * 5000 + "HERE" + "y" * 5000, Span("f.sched", 1, 5001, 1, 5005))
    assert len(lines[1]) < 200
    start = lines[2].index("^^^^")
    assert lines[1][start : start + 4] == "HERE"
    assert lines[1].startswith("1 | …x")
    assert lines[1].endswith("y…")


def test_a_replacement_is_shown_as_lines_out_and_in() -> None:
    span = Span("f.sched", 2, 1, 2, 6)
    fix = Fix("say `group`", (Edit(span, "group"), Edit(Span("f.sched", 2, 8, 2, 9), "=")))
    assert shown('schedule a\ngruop b: op "mm"\n', span, fix)[4:] == [
        "  = unsafe fix: say `group`",
        "  |",
        '2 - gruop b: op "mm"',
        '2 + group b= op "mm"',
    ]


def test_a_statement_put_in_is_shown_as_an_added_line() -> None:
    edit = Edit(Span("f.sched", 2, 1, 2, 1), "stream s\n")
    lines = shown("schedule a\na on s\n", Span("f.sched", 2, 6, 2, 7), Fix("declare the stream", (edit,)))
    assert lines[-2:] == ["  |", "2 + stream s"]


def test_a_statement_after_a_last_line_without_newline() -> None:
    edit = Edit(Span("f.sched", 2, 7, 2, 7), "\nb -> a\n")
    lines = shown("schedule a\na on s", Span("f.sched", 2, 1, 2, 2), Fix("add the edge", (edit,)))
    assert lines[-2:] == ["  |", "3 + b -> a"]
