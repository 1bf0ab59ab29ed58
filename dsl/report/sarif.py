"""Diagnostics as SARIF 2.1.0, the Static Analysis Results Interchange Format of OASIS, for code scanning.

One run with one result for each diagnostic: its place, the related places, what the finding is recognised by
(`partialFingerprints`), and its fix as replacements, of which `properties.safe` tells whether they may be applied
unseen. Paths are relative where the user typed them so; columns count code points.
"""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from streamsched.dsl.diagnostic import Diagnostic, Edit, Fix, Severity, Span
from streamsched.dsl.report.report import Report
from streamsched.dsl.report.version import version

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "streamsched/v1"
"""The name of our fingerprints; a new way to make them gets a new number."""

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def render(report: Report) -> str:
    """The log, indented, with a final newline. No source text is read."""
    codes = list(dict.fromkeys(diagnostic.code for diagnostic in sorted(report.diagnostics, key=lambda d: d.code)))
    driver = {"name": "streamsched", "rules": [_rule(report, code) for code in codes]}
    if version():
        driver["semanticVersion"] = version()
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(report, diagnostic, codes.index(diagnostic.code)) for diagnostic in report.diagnostics],
    }
    if report.unread:
        notes = [_notification(file, why) for file, why in report.unread]
        run["invocations"] = [{"executionSuccessful": False, "toolExecutionNotifications": notes}]
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"


def _notification(file: str, why: str) -> dict[str, Any]:
    """What says that a file could not be read."""
    place = {"physicalLocation": {"artifactLocation": {"uri": _uri(file)}}}
    return {"level": "error", "message": {"text": why}, "locations": [place]}


def _rule(report: Report, code: str) -> dict[str, Any]:
    rule = report.rule(code)
    if rule is None:
        return {"id": code}
    return {
        "id": code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "help": {"text": rule.page},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _result(report: Report, diagnostic: Diagnostic, rule: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "ruleIndex": rule,
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": _text(diagnostic)},
        "locations": [{"physicalLocation": _place(diagnostic.span)}],
        "partialFingerprints": {FINGERPRINT: report.fingerprints[diagnostic]},
    }
    if diagnostic.related:
        result["relatedLocations"] = [
            {"id": number, "physicalLocation": _place(related.span), "message": {"text": related.message}}
            for number, related in enumerate(diagnostic.related)
        ]
    if diagnostic.fix:
        result["fixes"] = [_fix(diagnostic.fix)]
    return result


def _text(diagnostic: Diagnostic) -> str:
    """The message with its notes and help, a line each."""
    return "\n".join((diagnostic.message, *diagnostic.notes, *([diagnostic.help] if diagnostic.help else [])))


def _place(span: Span) -> dict[str, Any]:
    return {"artifactLocation": {"uri": _uri(span.file)}, "region": _region(span)}


def _region(span: Span) -> dict[str, int]:
    return {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }


def _uri(file: str) -> str:
    path = PurePath(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix(), errors="surrogateescape")


def _fix(fix: Fix) -> dict[str, Any]:
    by_file: dict[str, list[Edit]] = {}
    for edit in fix.edits:
        by_file.setdefault(edit.span.file, []).append(edit)
    changes = [
        {
            "artifactLocation": {"uri": _uri(file)},
            "replacements": [
                {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}} for edit in edits
            ],
        }
        for file, edits in by_file.items()
    ]
    return {"description": {"text": fix.message}, "artifactChanges": changes, "properties": {"safe": fix.safe}}
