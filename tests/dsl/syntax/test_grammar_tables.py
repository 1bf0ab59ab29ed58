"""The grammar has no hidden conflicts, and the committed tables are those of the grammar."""

from __future__ import annotations

from pathlib import Path

import lark
import pytest

from streamsched.grammars import build, tables

STATEMENTS = (Path(__file__).parent / "identity.sched").read_text().splitlines()


def test_the_grammar_has_no_conflicts() -> None:
    tables.build_parser(tables.GRAMMAR.read_text(), strict=True)


def test_strict_building_finds_conflicts() -> None:
    ambiguous = tables.GRAMMAR.read_text().replace('"&" range', '"&" conjunction')
    with pytest.raises(lark.exceptions.GrammarError, match="conflict"):
        tables.build_parser(ambiguous, strict=True)


def test_the_committed_tables_are_fresh() -> None:
    line = tables.TABLES.read_bytes().partition(b"\n")[0]
    fresh = tables.header(tables.GRAMMAR.read_text())
    assert line.split()[-1] == fresh.split()[-1], "run `python -m streamsched.grammars.build`"


def test_committed_and_built_tables_give_the_same_parse_trees() -> None:
    committed = tables.load_parser()
    built = tables.build_parser(tables.GRAMMAR.read_text())
    for statement in STATEMENTS:
        first, second = committed.parse(statement), built.parse(statement)
        assert first == second
        spans = [(tree.meta.start_pos, tree.meta.end_pos) for tree in first.iter_subtrees()]
        assert spans == [(tree.meta.start_pos, tree.meta.end_pos) for tree in second.iter_subtrees()]


def test_tables_are_loaded_and_nothing_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    if lark.__version__.encode() not in tables.TABLES.read_bytes().partition(b"\n")[0]:
        pytest.skip("the committed tables are of another lark")
    monkeypatch.setattr(tables, "build_parser", lambda _: pytest.fail("built"))
    tables.load_parser().parse("a on b")


@pytest.mark.parametrize("content", [b"", b"lark 0.1 sched.lark 0\n???", b"\xff\xfe"])
def test_tables_that_do_not_fit_are_passed_over(content: bytes, tmp_path: Path) -> None:
    other = tmp_path / "sched.tables"
    other.write_bytes(content)
    assert tables.load_parser(other).parse("a on b").data == "placement"


def test_without_tables_the_parser_is_built(tmp_path: Path) -> None:
    assert tables.load_parser(tmp_path / "missing").parse("a on b").data == "placement"


def test_built_tables_load(tmp_path: Path) -> None:
    path = tmp_path / "sched.tables"
    path.write_bytes(build.serialized())
    assert tables.load_parser(path).parse("a -> b").data == "edge"
