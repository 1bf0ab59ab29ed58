"""Every rule has one code, a whole page, and a test that names it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from streamsched.dsl.check.registry import RULES
from streamsched.dsl.rules import ALL, find

HERE = Path(__file__).parent


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_test_names_the_rule(rule):
    tests = [path.read_text() for path in HERE.glob("test_*.py") if path.name != Path(__file__).name]
    assert any(f'"{rule.code}"' in text for text in tests), f"no test names {rule.code}"


@pytest.mark.parametrize("rule", ALL.values(), ids=lambda rule: rule.code)
def test_the_page_is_whole(rule):
    paragraphs = rule.page.split("\n\n")
    assert "\n" not in paragraphs[0] and paragraphs[0].endswith("."), "one line of summary first"
    assert any(p.startswith("Example") for p in paragraphs), "an example"
    assert any(p.startswith("Use instead") for p in paragraphs), "what to use instead"
    assert len(paragraphs) >= 5, "what it does, why it is bad, and two blocks"


def test_find_by_code_or_name():
    assert find("ORD101") is find("ord101") is find("missing-edge") is ALL["ORD101"]
    assert find("nothing") is None


def test_rules_are_found_without_torch_or_lark():
    code = "import streamsched.dsl.rules, sys; print({'torch', 'lark', 'jinja2'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
