"""Every rule finds what it is for, keeps quiet elsewhere, and mends what it can: one test over files.

To add a rule's cases, add `CODE.fail.sched` and `CODE.pass.sched` here, and `CODE.fix.sched` if a fix mends the first.
A model that several share is traced once, with `UPDATE_TRACES=1`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from rule_cases import FOLDER, TRACED_ANEW, Case, cases, findings, mended, saved_trace

from streamsched.dsl.diagnostic import Severity
from streamsched.dsl.rules import ALL

CASES = cases()
WITHOUT_CASES = {
    *("ORD103", "ORD105"),  # of programs that neither a schedule nor a recorded run makes
    *("AUD201", "AUD202", "AUD203", "TGT111"),  # of scripts, of runs without values, of what a caller does
    *("AUD301", "AUD302"),  # of code that is held against a schedule
    *("ORD108", "TRC115", "TRC116", "TRC117", "TRC118"),  # of models that communicate
    *("SEL106", "TRC110", "TRC111", "TRC112", "TRC114", "TRC122"),  # of what is installed, and of traces from elsewhere
    *("TRC108", "TRC113", "TRC120", "TRC202", "TRC204", "TRC205"),
}
"""The rules that are tested elsewhere only. A new rule gets cases."""


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)


def of_kind(kind: str) -> list[Case]:
    return [case for case in CASES if case.kind == kind]


def codes(kind: str) -> set[str]:
    return {case.code for case in of_kind(kind)}


@pytest.mark.parametrize("case", of_kind("fail"), ids=lambda case: case.code)
def test_the_rule_finds_it(case: Case) -> None:
    assert case.code in {diagnostic.code for diagnostic in findings(case)}


@pytest.mark.parametrize("case", of_kind("pass"), ids=lambda case: case.code)
def test_nothing_is_wrong(case: Case) -> None:
    found = findings(case)
    assert case.code not in {diagnostic.code for diagnostic in found}
    assert [d.message for d in found if d.severity is Severity.ERROR] == []


@pytest.mark.parametrize("case", of_kind("fix"), ids=lambda case: case.code)
def test_the_fix_mends_it(case: Case) -> None:
    (failing,) = (other for other in of_kind("fail") if other.code == case.code)
    assert mended(failing) == case.text
    assert case.code not in {diagnostic.code for diagnostic in findings(case)}


def test_a_rule_with_a_fix_shows_it() -> None:
    lacking = [
        case.code
        for case in of_kind("fail")
        if case.path.suffix == ".sched" and case.code not in codes("fix") and mended(case) != case.text
    ]
    assert lacking == []


def test_every_rule_has_cases() -> None:
    assert codes("fail") == codes("pass")
    assert set(ALL) - codes("fail") == WITHOUT_CASES


@pytest.mark.skipif(not os.environ.get("UPDATE_TRACES"), reason="only on request: traces the models anew")
def test_models_are_traced_once() -> None:
    from streamsched.dsl.pipeline import load_trace
    from streamsched.dsl.trace.store import save

    for case in of_kind("pass"):
        path = saved_trace(case.text) if case.path.suffix == ".sched" and not TRACED_ANEW.match(case.code) else ""
        if path and not Path(path).exists():
            traced = load_trace(case.path.name).trace
            assert traced is not None
            save(traced, path)
