"""What a finding is recognised by: not by its line, and not by the words of its message."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamsched.dsl.diagnostic import Diagnostic, Span
from streamsched.dsl.report.fingerprint import fingerprints
from streamsched.dsl.report.report import Report


def one(diagnostic: Diagnostic) -> str:
    return fingerprints([diagnostic])[diagnostic]


def moved(diagnostic: Diagnostic, lines: int, file: str = "overlap.sched") -> Diagnostic:
    span = diagnostic.span
    place = Span(file, span.line + lines, span.column, span.end_line + lines, span.end_column)
    return replace(diagnostic, span=place)


def test_lines_path_words_and_severity_take_no_part(missing_edge: Diagnostic) -> None:
    assert one(moved(missing_edge, 10)) == one(missing_edge)
    assert one(moved(missing_edge, 0, "other/overlap.sched")) == one(missing_edge)
    assert one(replace(missing_edge, message="op `mm` of `side` is before `B`")) == one(missing_edge)


@pytest.mark.parametrize(
    "change",
    [{"code": "ORD102"}, {"message": "`mm` on `side` reads `C` before it is written"}, {"message": "`mm` alone"}],
)
def test_rule_ops_and_tensors_take_part(change: dict[str, str], missing_edge: Diagnostic) -> None:
    assert one(replace(missing_edge, **change)) != one(missing_edge)  # type: ignore[arg-type]


def test_a_place_in_a_message_is_taken_without_its_line(missing_edge: Diagnostic) -> None:
    first, second = (replace(missing_edge, message=f"see `model.py:{line}`") for line in (3, 13))
    assert one(first) == one(second)


def test_equal_findings_are_told_apart_by_their_order(missing_edge: Diagnostic) -> None:
    first, second = missing_edge, moved(missing_edge, 4)
    found = fingerprints([second, first])
    assert found[first] == one(first)
    assert found[second] != found[first]
    later = fingerprints([moved(first, 10), moved(second, 10)])
    assert list(later.values()) == [found[first], found[second]]


def test_files_count_for_themselves(missing_edge: Diagnostic) -> None:
    other = moved(missing_edge, 0, "other.sched")
    assert set(fingerprints([missing_edge, other]).values()) == {one(missing_edge)}


def test_what_is_not_shown_counts(missing_edge: Diagnostic) -> None:
    second = moved(missing_edge, 4)
    assert Report((second,), found=(missing_edge, second)).fingerprints[second] != one(second)
