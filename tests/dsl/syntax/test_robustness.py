"""Nonsense of any size gets findings, quickly, and never an exception."""

from __future__ import annotations

import random
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamsched.dsl.syntax.formatter import format_schedule
from streamsched.dsl.syntax.parser import parse
from streamsched.dsl.syntax.statements import NESTING_LIMIT

HEAD = 'schedule x\nmodel "m:b"\n'
RANDOM = random.Random(0)
MEGABYTE = 1_000_000
LARGE = {
    "printable": "".join(chr(RANDOM.randrange(32, 127)) for _ in range(MEGABYTE)),
    "bytes": "".join(chr(RANDOM.randrange(1, 256)) for _ in range(MEGABYTE)),
    "tokens": "".join(RANDOM.choice('ab ->|&\n"(}[') for _ in range(MEGABYTE)),
    "words": "ab " * (MEGABYTE // 3),
    "one word": "a" * MEGABYTE,
    "open": "(" * MEGABYTE,
    "close": ")\n" * (MEGABYTE // 2),
    "quotes": '"' * MEGABYTE,
    "unclosed strings": '"\n' * (MEGABYTE // 2),
    "operators": "group a = " + "b | " * (MEGABYTE // 4),
    "commas": "a,\n" * (MEGABYTE // 3),
    "number": "group a = b[" + "9" * MEGABYTE + "]",
    "open on every line": "(\n on" * (MEGABYTE // 5),
    "undefined": HEAD + "".join(f"alpha{i} -> beta{i}\n" for i in range(3000)),
    "many groups": HEAD + "".join(f"group g{i} = h{i} | g{max(i - 1, 0)}\n" for i in range(3000)),
}


@pytest.mark.parametrize("kind", LARGE)
def test_large_nonsense_takes_no_time(kind: str) -> None:
    start = time.process_time()
    parsed = parse(LARGE[kind], "f")
    assert time.process_time() - start < 2
    assert 1 <= len(parsed.diagnostics) <= 200


def test_an_empty_file() -> None:
    for text in ("", "\n\n", "\ufeff", "# only\n# comments", " \t"):
        (finding,) = parse(text, "f").diagnostics
        assert (finding.name, finding.message) == ("missing-statement", "this schedule is empty")


@pytest.mark.parametrize("text", ["a\0b", "\0", "m\0o\0d\0e\0l\0" * 1000])
def test_binary_files(text: str) -> None:
    (finding,) = parse(text, "f").diagnostics
    assert "NUL" in finding.message
    assert finding.span.column == text.index("\0") + 1


@pytest.mark.parametrize("separator", ["", "\n"])
def test_nested_too_deeply(separator: str) -> None:
    text = f"{HEAD}group a = {('(' + separator) * 5000}b{(')' + separator) * 5000}\nstream s\nstrem t"
    findings = parse(text, "f").diagnostics
    assert findings[0].message == f"brackets are nested more than {NESTING_LIMIT} deep"
    assert [d.name for d in findings] == ["syntax-error", "unused-stream", "syntax-error"]


def test_nested_as_deeply_as_allowed() -> None:
    text = f'{HEAD}group a = {"(" * NESTING_LIMIT}op "x"{")" * NESTING_LIMIT}\na -> a'
    assert parse(text, "f").diagnostics == ()


def test_long_rows_of_operators_are_refused_before_anything_recurses() -> None:
    for row in (" | b" * 5000, "[0]" * 5000, " & b" * 5000):
        findings = parse(f"{HEAD}group a = b{row}", "f").diagnostics
        assert "more than 200 operators in a row" in findings[0].message


def test_a_long_row_of_operators_works() -> None:
    row = ' | op "y"' * 190
    parsed = parse(f'{HEAD}group a = op "x"{row}\na -> a', "f")
    assert parsed.diagnostics == ()
    assert parse(format_schedule(parsed.schedule), "f").schedule == parsed.schedule


def test_a_right_schedule_imports_nothing_that_only_faults_need() -> None:
    script = (
        "import sys; from streamsched.dsl.syntax.parser import parse\n"
        f"assert parse({HEAD!r}, 'f').diagnostics == ()\n"
        "print([name for name in ('torch', 'difflib', 'streamsched.dsl.syntax.slips') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


PIECES = st.sampled_from(
    [
        *("stream", "group", "model", "input", "schedule", "cost", "value", "module", "op", "a", "b", "on", "before"),
        *("->", "=>", "|", "&", "-", "..", ",", ";", ":", "=", "(", ")", "[", "]", "{", "}", '"x"', '"m:b"', '"', "'"),
        *("#", "1", "-2", "120us", "\n", "\r\n", " ", "\t", "\ufeff", "\u201c", "\u2028", "\u00e9", "\x0b", "\x85"),
    ]
)


@settings(max_examples=400, deadline=None)
@given(st.lists(PIECES, max_size=40).map(" ".join) | st.text(max_size=80))
def test_any_text_gives_findings_with_places_in_the_text(text: str) -> None:
    parsed = parse(text, "f")
    for finding in parsed.diagnostics:
        assert finding.span.file == "f"
        assert (finding.span.end_line, finding.span.end_column) <= (
            parsed.schedule.span.end_line,
            parsed.schedule.span.end_column,
        )
        assert finding.message.isprintable()
    again = parse(format_schedule(parsed.schedule), "f")
    assert again.schedule == parsed.schedule
