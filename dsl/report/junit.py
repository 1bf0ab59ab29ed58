"""Diagnostics as JUnit XML, which every continuous integration shows.

Each file is a suite, each finding a failed test in it; a file without findings is one test that passed, one that cannot
be read an error. Remarks are tests that passed, with what they say as output.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from streamsched.dsl.diagnostic import Diagnostic, Severity
from streamsched.dsl.report.plain import details
from streamsched.dsl.report.report import Report

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report) -> str:
    """The document, indented, with a final newline. No source text is read."""
    by_file: dict[str, list[Diagnostic]] = {file: [] for file in report.files}
    for diagnostic in report.diagnostics:
        by_file.setdefault(diagnostic.span.file, []).append(diagnostic)
    errors = len(report.unread)
    root = ElementTree.Element("testsuites", {"name": "streamsched"} | _counts(*by_file.values(), errors=errors))
    for file, found in by_file.items():
        suite = ElementTree.SubElement(root, "testsuite", {"name": _clean(file)} | _counts(found))
        for diagnostic in found:
            suite.append(_case(diagnostic))
        if not found:
            ElementTree.SubElement(suite, "testcase", {"name": "no findings", "classname": _clean(file)})
    for file, why in report.unread:
        suite = ElementTree.SubElement(root, "testsuite", {"name": _clean(file)} | _counts(errors=1))
        case = ElementTree.SubElement(suite, "testcase", {"name": "unreadable", "classname": _clean(file)})
        ElementTree.SubElement(case, "error", {"message": _clean(why)})
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _counts(*suites: list[Diagnostic], errors: int = 0) -> dict[str, str]:
    """The numbers of some suites; one without findings has one test. `errors` are the files that cannot be read."""
    tests = sum(len(found) or 1 for found in suites) + errors
    failures = sum(diagnostic.severity is not Severity.INFO for found in suites for diagnostic in found)
    return {"tests": str(tests), "failures": str(failures), "errors": str(errors)}


def _case(diagnostic: Diagnostic) -> ElementTree.Element:
    span = diagnostic.span
    named = {"name": f"{diagnostic.code} {diagnostic.name}", "classname": _clean(span.file), "line": str(span.line)}
    case = ElementTree.Element("testcase", named)
    if diagnostic.severity is Severity.INFO:
        told = ElementTree.SubElement(case, "system-out")
    else:
        attributes = {"message": _clean(diagnostic.message), "type": diagnostic.severity.value}
        told = ElementTree.SubElement(case, "failure", attributes)
    told.text = _clean("\n".join((f"{span}: {diagnostic.message}", *details(diagnostic))))
    return case


def _clean(text: str) -> str:
    """`text` without what XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text)
