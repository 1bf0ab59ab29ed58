"""The pages of the rules: complete, and their examples do what they say."""

from __future__ import annotations

import re
import textwrap

import pytest

from streamsched.dsl.rule import Rule
from streamsched.dsl.syntax.parser import parse
from streamsched.dsl.syntax.rules import RULES

SECTIONS = re.compile(r"^Example:\n(?P<bad>.*)^Use instead[^\n]*:\n(?P<good>.*)\Z", re.DOTALL | re.MULTILINE)
HEAD = 'schedule demo\nmodel "m.py:b"\n'
ABOUT_THE_HEAD = ("missing-statement", "misplaced-schedule")


def codes(rule: Rule[..., object], example: str) -> set[str]:
    """The codes of what is found in an example of a rule."""
    head = "" if rule.name in ABOUT_THE_HEAD else HEAD
    return {finding.code for finding in parse(head + textwrap.dedent(example), "f.sched").diagnostics}


def test_codes_and_names_are_unique() -> None:
    assert len({rule.code for rule in RULES}) == len({rule.name for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_the_example_fails_and_what_to_use_instead_does_not(rule: Rule[..., object]) -> None:
    sections = SECTIONS.search(rule.page)
    assert sections is not None, rule.page
    assert rule.code in codes(rule, sections["bad"])
    assert not {rule.code, "SYN101"} & codes(rule, sections["good"])


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_page_says_what_and_why(rule: Rule[..., object]) -> None:
    summary, blank, *rest = rule.page.splitlines()
    assert summary.endswith(".") and not blank
    assert rest[0] and not rest[0].startswith("Example:")
