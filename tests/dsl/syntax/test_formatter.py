"""The canonical form: it says the same, keeps every comment, and is its own canonical form."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_schedules import SCHEDULES, SELECTORS

from streamsched.dsl.diagnostic import Span
from streamsched.dsl.syntax import tree
from streamsched.dsl.syntax.formatter import WIDTH, format_schedule, format_selector, format_statement, wrap
from streamsched.dsl.syntax.parser import parse

IDENTITY = (Path(__file__).parent / "identity.sched").read_text().splitlines()
AT = Span("f", 1, 1, 1, 1)


def formatted(text: str) -> str:
    parsed = parse(text, "f")
    assert parsed.complete, parsed.diagnostics
    return format_schedule(parsed.schedule)


@pytest.mark.parametrize("line", IDENTITY)
def test_canonical_statements_format_to_themselves(line: str) -> None:
    (statement,) = parse(line, "f").schedule.statements
    assert format_statement(statement) == line
    assert formatted(line) == f"{line}\n"


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("schedule\t x", "schedule x"),
        ("input a,b:f16[4,4,];c:i64[ ]", "input a, b: f16[4, 4], c: i64[]"),
        ("stream a{cores aiv 16,aic 8 priority -1}", "stream a { priority -1; cores aic 8, aiv 16 }"),
        ("group g=((module 'x'))".replace("'", '"'), 'group g = module "x"'),
        ("group g = (a)[0]|(b&c)-(d..e)", "group g = a[0] | b & c - d .. e"),
        ("group g = value{a,'b','on','c d',}".replace("'", '"'), 'group g = value { a, b, "on", "c d" }'),
        ("group g = a[ 1 : ]", "group g = a[1:]"),
        ("group g = a[00]", "group g = a[0]"),
        ('line "m.py:3-3" on s', 'line "m.py:3" on s'),
        ("a,b->c->\n\n d", "a, b -> c -> d"),
        ("cost g = 0.12ms", "cost g = 120us"),
    ],
)
def test_spelling(written: str, canonical: str) -> None:
    assert formatted(written) == f"{canonical}\n"


def test_blank_lines_group_and_are_not_collected() -> None:
    text = "\n\n# head\n\n\n\nschedule x\nstream a\n\n\n\n# why\n\nstream b\n\n\n"
    assert formatted(text) == "# head\n\nschedule x\nstream a\n\n# why\n\nstream b\n"


def test_comments_stay_where_they_are() -> None:
    text = "# head\nschedule x    # name   \n  # indented\nstream a\n# tail\n"
    assert formatted(text) == "# head\nschedule x  # name\n# indented\nstream a\n# tail\n"


def test_comments_inside_a_statement_move_before_it() -> None:
    text = "schedule x\n\nstream a, # first\n  # second\n  b { # third\n priority 1 } # behind\n# next\nstream c\n"
    assert formatted(text) == (
        "schedule x\n\n# first\n# second\n# third\nstream a, b { priority 1 }  # behind\n# next\nstream c\n"
    )


def test_an_empty_schedule_formats_to_nothing() -> None:
    assert formatted("\n \n") == ""
    assert formatted("\n # c\n") == "# c\n"


def test_long_statements_are_broken_where_they_may_go_on() -> None:
    names = ", ".join(f"input_number_{i}" for i in range(12))
    lines = formatted(f"input {names}: f16[1]").splitlines()
    assert len(lines) == 3
    assert all(len(line) <= WIDTH for line in lines)
    assert all(line.endswith(",") for line in lines[:-1])
    assert all(line.startswith("    ") for line in lines[1:])
    statement = f'group g = module "{"x" * 40}" | value {{ {names} }} - op "{"y" * 40}"'
    lines = formatted(statement).splitlines()
    assert all(len(line) <= WIDTH for line in lines)
    assert parse("\n".join(lines), "f").schedule == parse(statement, "f").schedule


def test_strings_are_never_broken() -> None:
    glob = "a, b | c -> " * 20
    assert wrap(f'module "{glob}" -> b') == [f'module "{glob}" ->', "    b"]


def test_a_line_is_full_at_the_width_and_not_before() -> None:
    fits = f"stream {'a' * 40}, {'b' * (WIDTH - 49)}"
    assert len(fits) == WIDTH
    assert formatted(fits) == f"{fits}\n"
    assert formatted(f"{fits}b").count("\n") == 2


def test_a_broken_line_may_begin_with_a_keyword_that_is_a_name() -> None:
    text = f"{'a' * 60}, {'b' * 32}, group on s"
    assert formatted(text).splitlines()[1] == "    group on s"
    assert parse(formatted(text), "f").schedule == parse(text, "f").schedule


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(SCHEDULES)
def test_parsing_the_canonical_form_gives_the_tree(schedule: tree.Schedule) -> None:
    text = format_schedule(schedule)
    parsed = parse(text, "f")
    assert parsed.complete, parsed.diagnostics
    assert parsed.schedule == schedule
    assert format_schedule(parsed.schedule) == text


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(SELECTORS)
def test_no_parentheses_can_be_left_out(selector: tree.Selector) -> None:
    text = format_selector(selector)
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', lambda match: "_" * len(match[0]), text)
    stack: list[int] = []
    for at, character in enumerate(bare):
        if character == "(":
            stack.append(at)
        elif character == ")":
            start = stack.pop()
            without = text[:start] + " " + text[start + 1 : at] + " " + text[at + 1 :]
            parsed = parse(f"group g = {without}", "f").schedule.statements
            assert parsed != (tree.GroupStatement(tree.Name("g", span=AT), selector, span=AT),)


COMMENT = st.sampled_from(["# one", "# two # three", "#", '# "four', "# (five", "#six  "])


def _sprinkled(text: str, comments: list[str], seed: int) -> str:
    """`text` with each comment behind a line, on a line of its own, or in a statement where it may go on."""
    source = random.Random(seed)
    breaks = re.compile(r'"(?:[^"\\\n]|\\.)*"|(?:->|[,{(\n]) ?')
    places = [""]
    for token in re.split(f"({breaks.pattern})", text):
        if token.startswith("\n"):
            places.append("")  # behind a statement
        places[-1] += token
        if breaks.fullmatch(token) and not token.startswith('"'):
            places.append("")
    at = [source.randrange(len(places)) for _ in comments]
    for place, comment in zip(at, comments, strict=True):
        places[place] = f" {comment}\n{places[place]}"
    return "".join(places)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(SCHEDULES, st.lists(COMMENT, max_size=8), st.integers(0, 10**6))
def test_comments_are_kept_wherever_they_stand(schedule: tree.Schedule, comments: list[str], seed: int) -> None:
    parsed = parse(_sprinkled(format_schedule(schedule), comments, seed), "f")
    assert parsed.complete, parsed.diagnostics
    assert parsed.schedule == schedule
    assert sorted(c.text for c in parsed.schedule.comments) == sorted(comment.rstrip() for comment in comments)
    text = format_schedule(parsed.schedule)
    again = parse(text, "f").schedule
    assert again == schedule
    assert sorted(c.text for c in again.comments) == sorted(c.text for c in parsed.schedule.comments)
    assert format_schedule(again) == text


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from('ab# \n,->{}|()"x')), st.text(st.sampled_from("\n #c")))
def test_formatting_twice_is_formatting_once(text: str, more: str) -> None:
    schedule = parse(f"{text}\nstream a{more}\n", "f").schedule
    once = format_schedule(schedule)
    assert format_schedule(parse(once, "f").schedule) == once
