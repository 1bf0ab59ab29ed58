"""Diagnostics as workflow commands of GitHub Actions, which shows them beside the lines of a pull request.

::error file=a.sched,line=3,col=1,endLine=3,endColumn=9,title=ORD101 missing-edge::message
"""

from __future__ import annotations

from streamsched.dsl.diagnostic import Diagnostic, Severity
from streamsched.dsl.report.excerpt import printable
from streamsched.dsl.report.plain import details
from streamsched.dsl.report.report import Report

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(report: Report) -> str:
    """One command for each diagnostic; empty without diagnostics. No source text is read."""
    unread = (f"::error file={_property(file)},title=unreadable::{_data(why)}\n" for file, why in report.unread)
    return "".join((*(_command(diagnostic) for diagnostic in report.diagnostics), *unread))


def _command(diagnostic: Diagnostic) -> str:
    span = diagnostic.span
    properties: dict[str, str | int] = {
        "file": span.file,
        "line": span.line,
        "col": span.column,
        "endLine": span.end_line,
    }
    if span.line == span.end_line:
        properties["endColumn"] = span.end_column  # columns are only taken for places within one line
    properties["title"] = f"{diagnostic.code} {diagnostic.name}"
    given = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    text = "\n".join((diagnostic.message, *details(diagnostic)))
    return f"::{_COMMANDS[diagnostic.severity]} {given}::{_data(text)}\n"


def _data(text: str) -> str:
    return printable(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
