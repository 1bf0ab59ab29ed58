"""Diagnostics as a Code Quality report of GitLab, which shows in merge requests what is new and what is mended.

A list of objects with `description`, `check_name`, `fingerprint`, `severity` and `location`; GitLab takes findings of
equal fingerprint for one, so that the path takes part in it.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import PurePath
from typing import Any

from streamsched.dsl.diagnostic import Diagnostic, Severity
from streamsched.dsl.report.report import Report

_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}


def render(report: Report) -> str:
    """The report, indented, with a final newline; an empty list without diagnostics. No source text is read."""
    findings = [_finding(diagnostic, report.fingerprints[diagnostic]) for diagnostic in report.diagnostics]
    findings += [_unread(file, why) for file, why in report.unread]
    return json.dumps(findings, indent=2, ensure_ascii=False) + "\n"


def _finding(diagnostic: Diagnostic, fingerprint: str) -> dict[str, Any]:
    path = PurePath(diagnostic.span.file).as_posix()
    return {
        "description": f"{diagnostic.code} {diagnostic.name}: {diagnostic.message}",
        "check_name": diagnostic.code,
        "fingerprint": hashlib.sha256(f"{path}\0{fingerprint}".encode("utf-8", "surrogatepass")).hexdigest()[:32],
        "severity": _SEVERITIES[diagnostic.severity],
        "location": {"path": path, "lines": {"begin": diagnostic.span.line, "end": diagnostic.span.end_line}},
    }


def _unread(file: str, why: str) -> dict[str, Any]:
    """The entry of a file that could not be read."""
    path = PurePath(file).as_posix()
    return {
        "description": why,
        "check_name": "unreadable",
        "fingerprint": hashlib.sha256(f"{path}\0unreadable".encode("utf-8", "surrogatepass")).hexdigest()[:32],
        "severity": "major",
        "location": {"path": path, "lines": {"begin": 1, "end": 1}},
    }
