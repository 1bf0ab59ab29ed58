"""Diagnostics as JSON, for programs. The schema is stable: keys may be added, none is removed or changes its meaning.

The report is a list, empty when there is nothing to say, of objects with these keys:

| key | what |
|---|---|
| `code`, `name` | the rule, `"ORD101"` and `"missing-edge"` |
| `severity` | `"error"`, `"warning"` or `"info"` |
| `message` | what is wrong, in one line |
| `location` | where: `{"file": ..., "start": {"line": 3, "column": 1}, "end": {"line": 3, "column": 9}}` |
| `related` | a list of `{"message": ..., "location": ...}`: other places that explain the finding |
| `notes` | a list of texts: why it matters |
| `help` | what to type instead, or null |
| `fix` | null, or `{"message": ..., "safe": bool, "edits": [{"location": ..., "text": ...}]}` |
| `fingerprint` | by what the finding is recognised in another run, however lines move: the same text within its file |

Lines and columns count from 1, in characters (code points) of the text without a byte order mark; `end` is exclusive.
An edit replaces the text of its location by `text`; all edits of a fix mean the original text and do not overlap.
"""

from __future__ import annotations

import json
from typing import Any

from streamsched.dsl.diagnostic import Diagnostic, Fix, Span
from streamsched.dsl.report.report import Report


def render(report: Report) -> str:
    """The report, indented, with a final newline. No source text is read."""
    findings = [_diagnostic(diagnostic, report.fingerprints[diagnostic]) for diagnostic in report.diagnostics]
    return json.dumps(findings, indent=2, ensure_ascii=False) + "\n"


def _diagnostic(diagnostic: Diagnostic, fingerprint: str) -> dict[str, Any]:
    return {
        "code": diagnostic.code,
        "name": diagnostic.name,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "location": _location(diagnostic.span),
        "related": [{"message": r.message, "location": _location(r.span)} for r in diagnostic.related],
        "notes": list(diagnostic.notes),
        "help": diagnostic.help,
        "fix": _fix(diagnostic.fix) if diagnostic.fix else None,
        "fingerprint": fingerprint,
    }


def _location(span: Span) -> dict[str, Any]:
    return {
        "file": span.file,
        "start": {"line": span.line, "column": span.column},
        "end": {"line": span.end_line, "column": span.end_column},
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "message": fix.message,
        "safe": fix.safe,
        "edits": [{"location": _location(edit.span), "text": edit.text} for edit in fix.edits],
    }
