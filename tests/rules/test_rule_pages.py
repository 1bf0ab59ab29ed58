"""`docs/rules` is made from the rules and their cases, and as fresh as these. `UPDATE_PAGES=1` makes it anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("torch")

from rule_cases import FOLDER
from rule_pages import pages

DOCS = Path(__file__).parents[2] / "docs" / "rules"


def test_the_pages_are_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    made = pages()
    if os.environ.get("UPDATE_PAGES"):
        DOCS.mkdir(exist_ok=True)
        for path in DOCS.glob("*.md"):
            path.unlink()
        for name, text in made.items():
            (DOCS / name).write_text(text, encoding="utf-8")
    assert sorted(path.name for path in DOCS.iterdir()) == sorted(made)
    stale = [name for name, text in made.items() if (DOCS / name).read_text(encoding="utf-8") != text]
    assert stale == []
