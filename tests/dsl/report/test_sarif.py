"""SARIF: what the schema of OASIS demands, and what code scanning needs to know a finding again."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from streamsched.dsl.diagnostic import Diagnostic, Edit, Fix, Severity, Span
from streamsched.dsl.report import sarif
from streamsched.dsl.report.report import Report
from streamsched.dsl.rules import find

Read = Callable[[str], str | None]
SCHEMA = json.loads((Path(__file__).parents[2] / "data/sarif/sarif-schema-2.1.0.json").read_text(encoding="utf-8"))


def log(*diagnostics: Diagnostic) -> dict[str, Any]:
    """The log of some findings, which is checked against the schema."""
    result: dict[str, Any] = json.loads(sarif.render(Report(diagnostics, rule=find)))
    validator = jsonschema.Draft4Validator(SCHEMA, format_checker=jsonschema.FormatChecker())
    assert [error.message for error in validator.iter_errors(result)] == []
    return result


def results(*diagnostics: Diagnostic) -> list[Any]:
    found: list[Any] = log(*diagnostics)["runs"][0]["results"]
    return found


def test_a_finding_with_everything(missing_edge: Diagnostic) -> None:
    (result,) = results(missing_edge)
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "overlap.sched"}
    assert place["region"] == {"startLine": 5, "startColumn": 1, "endLine": 5, "endColumn": 11}
    assert result["message"]["text"].splitlines() == [
        missing_edge.message,
        *missing_edge.notes[0].splitlines(),
        "order them",
    ]
    assert [each["message"]["text"] for each in result["relatedLocations"]] == [r.message for r in missing_edge.related]
    (fix,) = result["fixes"]
    assert fix["properties"] == {"safe": True}
    (change,) = fix["artifactChanges"]
    assert change["artifactLocation"] == {"uri": "overlap.sched"}
    assert change["replacements"] == [
        {
            "deletedRegion": {"startLine": 6, "startColumn": 1, "endLine": 6, "endColumn": 1},
            "insertedContent": {"text": "b -> mm\n"},
        }
    ]


def test_rules_are_told_once_and_pointed_at(missing_edge: Diagnostic) -> None:
    other = replace(missing_edge, code="MEM101", name="missing-record-stream")
    run = log(missing_edge, other, missing_edge)["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["MEM101", "ORD101"]
    assert [result["ruleIndex"] for result in run["results"]] == [1, 0, 1]
    assert rules[1]["help"]["text"].startswith(rules[1]["shortDescription"]["text"])


@pytest.mark.parametrize(
    ("severity", "level"), [(Severity.ERROR, "error"), (Severity.WARNING, "warning"), (Severity.INFO, "note")]
)
def test_levels(severity: Severity, level: str, missing_edge: Diagnostic) -> None:
    assert results(replace(missing_edge, severity=severity))[0]["level"] == level


@pytest.mark.parametrize("file", ["<stdin>", "/abs/a b.sched", "é/100%.sched", "--model", "FILE:ATTR"])
def test_every_path_is_a_uri(file: str, missing_edge: Diagnostic) -> None:
    (result,) = results(replace(missing_edge, span=Span(file, 1, 1, 1, 2)))
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.isascii()
    assert not set(uri) & set("<> ")


def test_nothing_found_is_a_run_without_results() -> None:
    assert results() == []


def test_a_fix_of_two_files(missing_edge: Diagnostic) -> None:
    edits = (Edit(Span("b", 1, 1, 1, 1), "x"), Edit(Span("a", 1, 1, 1, 1), "y"), Edit(Span("b", 2, 1, 2, 1), "z"))
    (result,) = results(replace(missing_edge, fix=Fix("mend", edits)))
    assert [
        (change["artifactLocation"]["uri"], len(change["replacements"]))
        for change in result["fixes"][0]["artifactChanges"]
    ] == [("b", 2), ("a", 1)]
