"""The editor grammar and the extension know the language that `sched.lark` defines."""

from __future__ import annotations

import json
import re
from pathlib import Path

from streamsched.dsl.syntax.statement_rules import DTYPES
from streamsched.lsp.keywords import KEYWORDS, STATEMENTS

ROOT = Path(__file__).parents[2]
GRAMMAR = json.loads((ROOT / "grammars" / "sched.tmLanguage.json").read_text(encoding="utf-8"))
LARK = (ROOT / "grammars" / "sched.lark").read_text(encoding="utf-8")


def words(pattern: str) -> set[str]:
    return set(re.findall(r"[a-z][a-z0-9_]*", re.sub(r"\\[a-z]", "", pattern)))


def keywords() -> set[str]:
    return set(re.findall(r'"([a-z_]+)"', LARK))


def test_every_keyword_is_coloured() -> None:
    parts = GRAMMAR["repository"]
    known = set().union(*(words(parts[part]["match"]) for part in ("declaration", "statement", "selector", "clause")))
    assert keywords() - known == set()
    assert words(parts["dtype"]["match"]) == set(DTYPES)


def test_every_statement_is_offered_and_explained() -> None:
    explained = keywords() - {"from", "explicit", "auto", "record_stream", "join", "compiled", "eager", "aic", "aiv"}
    assert explained - set(KEYWORDS) == set()
    rules = re.search(r"\?start:(.*?)\n\n", LARK, re.DOTALL)
    assert rules is not None
    statements = set(re.findall(r"\w+", rules[1])) - {
        "inputs_from",
        "own_device",
        "device_file",
        "placement",
        "edge",
        "before",
        "cost",  # the check refuses it
    }
    assert statements - set(STATEMENTS) == set()


def test_the_extension_names_files_that_are_there() -> None:
    folder = ROOT / "editors" / "vscode"
    package = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    (language,), (grammar,) = package["contributes"]["languages"], package["contributes"]["grammars"]
    assert (folder / package["main"]).is_file()
    assert (folder / language["configuration"]).is_file()
    assert json.loads((folder / grammar["path"]).read_text(encoding="utf-8")) == GRAMMAR
    assert grammar["scopeName"] == GRAMMAR["scopeName"]
