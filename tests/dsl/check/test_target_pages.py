"""TGT: every rule is in the table of hazards, and says on which version it was seen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from streamsched.dsl.check.target import RULES

DOCS = Path(__file__).parents[3] / "docs" / "targets.md"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_page_names_the_version_that_it_was_seen_on(rule):
    assert "seen on torch_npu 2.13.0" in rule.page


def test_the_table_of_hazards_names_every_rule():
    rows = [line for line in DOCS.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    named = {code for row in rows for code in re.findall(r"TGT\d{3}", row)}
    assert named == {rule.code for rule in RULES}
