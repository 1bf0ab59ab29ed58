"""How often each rule has found something, in place of the findings: for a first look at a large project.

12  error    ORD101  missing-edge      12 fixable, 10 of them safely
 3  warning  MEM102  ...
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.report.report import Report


@dataclass(frozen=True, slots=True)
class Count:
    """What one rule has found, in one severity. `safe` counts the findings whose fix is safe, which are fixable too."""

    code: str
    name: str
    severity: str
    count: int
    fixable: int
    safe: int


def counts(report: Report) -> list[Count]:
    """The most frequent rules first, then in the order of their codes."""
    found: dict[tuple[str, str, str], list[Diagnostic]] = defaultdict(list)
    for diagnostic in report.diagnostics:
        found[diagnostic.code, diagnostic.name, diagnostic.severity.value].append(diagnostic)
    result = []
    for (code, name, severity), those in found.items():
        fixes = [diagnostic.fix for diagnostic in those if diagnostic.fix]
        result.append(Count(code, name, severity, len(those), len(fixes), sum(fix.safe for fix in fixes)))
    return sorted(result, key=lambda count: (-count.count, count.code))


def render(report: Report) -> str:
    """A line for each rule; empty without diagnostics."""
    rows = counts(report)
    number = max((len(str(row.count)) for row in rows), default=0)
    name = max((len(row.name) for row in rows), default=0)
    lines = (
        f"{row.count:>{number}}  {row.severity:<7}  {row.code}  {row.name:<{name}}  {_fixable(row)}".rstrip()
        for row in rows
    )
    return "".join(f"{line}\n" for line in lines)


def _fixable(row: Count) -> str:
    if not row.fixable:
        return ""
    safely = f", {row.safe} of them safely" if row.safe else ""
    return f"{row.fixable} fixable{safely}"


def render_json(report: Report) -> str:
    """A list of objects with the fields of a count as keys, indented, with a final newline."""
    rows = [
        {
            "code": row.code,
            "name": row.name,
            "severity": row.severity,
            "count": row.count,
            "fixable": row.fixable,
            "safe": row.safe,
        }
        for row in counts(report)
    ]
    return json.dumps(rows, indent=2) + "\n"
