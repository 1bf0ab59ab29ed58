"""How `lint` prints what it finds: formats, files, counts, silence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

Run = Callable[..., Any]


@pytest.fixture
def bad(project: Path) -> Path:
    """A schedule with one error and a few remarks: its edges are gone."""
    text = (project / "good.sched").read_text()
    path = project / "good.sched"
    path.write_text("".join(line for line in text.splitlines(keepends=True) if "->" not in line))
    return path


@pytest.mark.parametrize("name", ["text", "concise", "json", "sarif", "github", "gitlab", "junit"])
def test_a_file_gets_what_would_be_printed(name: str, bad: Path, run: Run) -> None:
    printed = run("lint", "good.sched", "--output-format", name)
    written = run("lint", "good.sched", "--output-format", name, "-o", "out")
    assert printed.code == written.code == 1
    assert "ORD101" in printed.out
    assert written.out == ""
    assert Path("out").read_text() == printed.out


def test_remarks_are_for_those_who_ask_and_for_programs(project: Path, run: Run) -> None:
    for name in ("text", "concise", "github"):
        assert run("lint", "--output-format", name).out == ""
        assert "MEM10" in run("lint", "--output-format", name, "--verbose").out
    assert json.loads(run("lint", "--output-format", "gitlab").out) == []
    sarif = json.loads(run("lint", "--output-format", "sarif").out)
    assert {result["level"] for result in sarif["runs"][0]["results"]} == {"note"}
    assert 'failures="0"' in run("lint", "--output-format", "junit").out


def test_lines_above_change_no_fingerprint(bad: Path, run: Run) -> None:
    def prints() -> list[Any]:
        log = json.loads(run("lint", "good.sched", "--output-format", "sarif").out)
        return [
            (
                each["ruleId"],
                each["partialFingerprints"],
                each["locations"][0]["physicalLocation"]["region"]["startLine"],
            )
            for each in log["runs"][0]["results"]
        ]

    before = prints()
    bad.write_text("# more\n" * 10 + bad.read_text())
    assert prints() == [(code, fingerprint, line + 10) for code, fingerprint, line in before]


def test_exit_zero_is_for_findings_only(bad: Path, run: Run) -> None:
    assert run("lint", "good.sched", "--exit-zero").code == 0
    assert run("lint", "missing.sched", "--exit-zero").code == 2


def test_quiet_prints_findings_and_nothing_else(bad: Path, run: Run) -> None:
    loud, quiet = run("lint", "good.sched"), run("lint", "good.sched", "-q")
    assert loud.err == "1 error\n"
    assert (quiet.code, quiet.out, quiet.err) == (1, loud.out, "")


def test_statistics(bad: Path, run: Run) -> None:
    result = run("lint", "good.sched", "--statistics")
    assert (result.code, result.out, result.err) == (
        1,
        "1  error    ORD101  missing-edge  1 fixable, 1 of them safely\n",
        "",
    )
    counted = json.loads(run("lint", "good.sched", "--statistics", "--output-format", "json").out)
    assert {each["code"] for each in counted} == {"ORD101", "MEM104", "MEM105"}
    refused = run("lint", "good.sched", "--statistics", "--output-format", "sarif")
    assert refused.code == 2
    assert "not as sarif" in refused.err


def test_no_colour_in_files(bad: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamsched.dsl.report.style.wants_colour", lambda stream, environment: True)
    assert "\x1b[" in run("lint", "good.sched").out
    run("lint", "good.sched", "-o", "out")
    assert "\x1b[" not in Path("out").read_text()


def test_a_report_that_cannot_be_written(bad: Path, run: Run) -> None:
    result = run("lint", "good.sched", "-o", "nowhere/out")
    assert (result.code, result.out) == (2, "")
    assert "there is no folder nowhere" in result.err


def test_every_report_tells_of_a_file_that_cannot_be_read(project: Path, run: Run) -> None:
    Path("bad.sched").write_bytes(b"\x80")
    why = "cannot read bad.sched: it is not UTF-8 text (byte 0x80 on line 1)"
    reports = {name: run("lint", "--output-format", name) for name in ("junit", "sarif", "gitlab", "github")}
    assert {report.code for report in reports.values()} == {2}
    suites = ElementTree.fromstring(reports["junit"].out)
    assert (suites.get("errors"), [error.get("message") for error in suites.iter("error")]) == ("1", [why])
    (invocation,) = json.loads(reports["sarif"].out)["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False
    (note,) = invocation["toolExecutionNotifications"]
    assert (note["level"], note["message"]["text"]) == ("error", why)
    assert [
        each["description"] for each in json.loads(reports["gitlab"].out) if each["check_name"] == "unreadable"
    ] == [why]
    assert f"::error file=bad.sched,title=unreadable::{why}\n" in reports["github"].out


def test_a_fix_that_is_unsafe_is_called_so(bad: Path, run: Run) -> None:
    with bad.open("a") as file:
        file.write("stream idle\n")
    assert "%0Aunsafe fix: remove stream `idle`" in run("lint", "--output-format", "github").out
