"""One line for each diagnostic: `file:line:column: severity CODE message`, for editors, `grep` and short logs."""

from __future__ import annotations

from streamsched.dsl.files import readable_name
from streamsched.dsl.report.excerpt import printable
from streamsched.dsl.report.report import Report


def render(report: Report) -> str:
    """The report, a line for each diagnostic; empty without diagnostics. No source text is read."""
    return "".join(
        f"{readable_name(str(each.span))}: {each.severity.value} {each.code} {printable(each.message)}\n"
        for each in report.diagnostics
    )
