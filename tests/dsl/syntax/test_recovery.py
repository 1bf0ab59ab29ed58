"""Several errors in one file: all are reported, and none causes another."""

from __future__ import annotations

from streamsched.dsl.syntax.parser import ERROR_LIMIT, parse
from streamsched.dsl.syntax.tree import GroupStatement, StreamStatement

HEAD = 'schedule x\nmodel "m:b"\n'


def found(text: str) -> list[tuple[int, str]]:
    return [(d.span.line, d.name) for d in parse(HEAD + text, "f").diagnostics]


def test_all_errors_are_reported_and_the_rest_is_read() -> None:
    parsed = parse("strem a\ngroup b = c\na => b\n\ngroup d e\nstream f", "f")
    errors = [d.span.line for d in parsed.diagnostics if d.name == "syntax-error"]
    assert errors == [1, 3, 5]
    assert [type(s) for s in parsed.schedule.statements] == [GroupStatement, StreamStatement]
    assert not parsed.complete


def test_names_in_broken_statements_are_neither_undefined_nor_unused() -> None:
    text = 'strem side\ngroup a module "x"\na on side\nstream other\ngroup b = op "y"\na => b\nb onn other\n'
    assert found(text) == [(3, "syntax-error"), (4, "syntax-error"), (8, "syntax-error"), (9, "syntax-error")]


def test_a_misspelled_name_is_not_also_unused() -> None:
    assert found('stream side\ngroup expert = op "x"\nexpert on sied\nexprt -> op "y"\n') == [
        (5, "undefined-name"),
        (6, "undefined-name"),
    ]


def test_a_name_may_be_meant_that_a_broken_statement_declares() -> None:
    findings = parse(f'{HEAD}strem side\nop "x" on sied\n', "f").diagnostics
    assert [(d.name, d.help) for d in findings] == [
        ("syntax-error", "did you mean `stream`?"),
        ("undefined-name", "did you mean `side`?"),
    ]


def test_an_unclosed_bracket_swallows_no_declaration() -> None:
    text = 'stream a { cores aic 1\nstream b { priority 1 }\nop "x" on a\nop "y" on b\n'
    assert found(text) == [(3, "syntax-error")]


def test_an_unclosed_bracket_swallows_no_edge_or_placement() -> None:
    text = 'stream s\ngroup a = (op "x" |\n  op "y"\n\na on s\nop "z" -> op "x"\n'
    parsed = parse(HEAD + text, "f")
    assert [(d.span.line, d.span.column, d.name) for d in parsed.diagnostics] == [(4, 11, "syntax-error")]
    assert len(parsed.schedule.statements) == 5


def test_an_unfinished_line_swallows_no_declaration() -> None:
    assert found('op "x" ->\nstream s\nop "x" on s\n') == [(3, "syntax-error")]
    assert found('group a =\ngroup b = op "x"\na -> b\n') == [(3, "syntax-error")]


def test_an_unclosed_string_ends_at_its_line() -> None:
    assert found('stream s\nmodule "x on s\nop "x" on s\n') == [(4, "syntax-error")]


def test_too_many_errors_are_cut_off_and_that_is_said() -> None:
    parsed = parse("a b\n" * 1000, "f")
    assert len(parsed.diagnostics) == ERROR_LIMIT + 1
    assert "more errors follow" in parsed.diagnostics[-1].message
    assert parsed.diagnostics[-1].span.line == ERROR_LIMIT + 1
    assert len(parse("a b\n" * ERROR_LIMIT, "f").diagnostics) == ERROR_LIMIT


def test_findings_come_in_the_order_of_the_text() -> None:
    lines = found("stream a\nstrem b\ngroup g = c\n")
    assert lines == sorted(lines, key=lambda item: item[0])
    assert {line for line, _ in lines} == {3, 4, 5}
