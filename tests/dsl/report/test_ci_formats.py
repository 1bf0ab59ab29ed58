"""The formats that continuous integration reads: GitHub, GitLab, JUnit, and the counts of rules."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree

from streamsched.dsl.diagnostic import Diagnostic, Fix, Severity, Span
from streamsched.dsl.report import github, gitlab, junit, statistics
from streamsched.dsl.report.formats import FORMATS, renderer
from streamsched.dsl.report.report import Report


def test_every_format_renders_nothing_and_something(missing_edge: Diagnostic) -> None:
    for name in FORMATS:
        assert renderer(name)(Report((missing_edge,))).endswith("\n")
        assert isinstance(renderer(name)(Report(())), str)


def test_github_is_one_command_each(missing_edge: Diagnostic) -> None:
    text = github.render(Report((missing_edge,)))
    head, data = text.rstrip("\n").split("::", 2)[1:]
    assert text.count("\n") == 1
    assert head == "error file=overlap.sched,line=5,col=1,endLine=5,endColumn=11,title=ORD101 missing-edge"
    assert data.split("%0A") == [
        missing_edge.message,
        "nothing orders the two streams:",
        "default: B",
        "side: mm",
        "model.py:2:5: `B` is written here, on `default`",
        "model.py:6:12: and read here, on `side`",
        "help: order them",
        "fix: add the edge `b -> mm`",
    ]


def test_github_takes_nothing_for_a_command(missing_edge: Diagnostic) -> None:
    nasty = Span("a,b::c.sched", 1, 1, 2, 3)
    text = github.render(Report((replace(missing_edge, message="50% :: done", span=nasty, severity=Severity.INFO),)))
    assert text.startswith(
        "::notice file=a%2Cb%3A%3Ac.sched,line=1,col=1,endLine=2,title=ORD101 missing-edge::50%25 :: "
    )


def test_gitlab(missing_edge: Diagnostic) -> None:
    elsewhere = replace(missing_edge, span=Span("other.sched", 5, 1, 5, 11), severity=Severity.WARNING)
    report = Report((missing_edge, elsewhere))
    first, second = json.loads(gitlab.render(report))
    assert first["check_name"] == "ORD101"
    assert first["location"] == {"path": "overlap.sched", "lines": {"begin": 5, "end": 5}}
    assert (first["severity"], second["severity"]) == ("major", "minor")
    assert report.fingerprints[missing_edge] == report.fingerprints[elsewhere]
    assert first["fingerprint"] != second["fingerprint"]
    assert json.loads(gitlab.render(Report(()))) == []


def test_junit_has_a_suite_for_each_file_and_a_test_for_each_finding(missing_edge: Diagnostic) -> None:
    remark = replace(missing_edge, severity=Severity.INFO, message="a remark \x00 <b>")
    root = ElementTree.fromstring(junit.render(Report((missing_edge, remark), files=("good.sched", "overlap.sched"))))
    assert root.attrib == {"name": "streamsched", "tests": "3", "failures": "1", "errors": "0"}
    good, bad = root.findall("testsuite")
    assert good.attrib == {"name": "good.sched", "tests": "1", "failures": "0", "errors": "0"}
    assert [case.get("name") for case in good] == ["no findings"]
    failed, passed = bad.findall("testcase")
    failure = failed.find("failure")
    assert failure is not None
    assert failure.get("message") == missing_edge.message
    assert failure.text is not None
    assert failure.text.startswith("overlap.sched:5:1: ")
    assert passed.find("failure") is None
    assert "a remark \ufffd <b>" in passed.findtext("system-out", "")


def test_statistics_count_by_rule(missing_edge: Diagnostic) -> None:
    assert missing_edge.fix is not None
    unsafe = replace(missing_edge, fix=Fix("mend", missing_edge.fix.edits))
    other = replace(missing_edge, code="MEM102", name="needless", severity=Severity.WARNING, fix=None)
    report = Report((other, missing_edge, unsafe))
    assert statistics.render(report) == (
        "2  error    ORD101  missing-edge  2 fixable, 1 of them safely\n1  warning  MEM102  needless\n"
    )
    assert json.loads(statistics.render_json(report))[0] == {
        "code": "ORD101",
        "name": "missing-edge",
        "severity": "error",
        "count": 2,
        "fixable": 2,
        "safe": 1,
    }
    assert statistics.render(Report(())) == ""
