"""Every rule finds what it is for, keeps quiet elsewhere, and mends what it can: one test over files.

To add a rule's cases, add `CODE.fail.sched` and `CODE.pass.sched` here, and `CODE.fix.sched` if a fix mends the first;
see `rule_cases` for what else a case may be. A model that several share is traced once, with `UPDATE_TRACES=1`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from rule_cases import FOLDER, TRACED_ANEW, Case, cases, findings, mended, saved_trace

from streamsched.dsl.diagnostic import Severity
from streamsched.dsl.rules import ALL

CASES = cases()
PROGRAMS = {
    "ORD103": "A plan honours its edges, and a recorded run has none; `audit --against` has AUD301 in its place.",
    "ORD105": "The recorder takes each record for an event of its own, and has AUD105 for what was recorded again.",
    "TGT111": "A recorded forward() does not hold what its caller has issued on a side stream.",
}
"""The rules that no command of a user leads to, and why: they read programs that are made by other means."""


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
    schedules = [case for case in of_kind("fail") if case.path.suffix == ".sched"]
    fixable = {d.code for case in schedules for d in findings(case) if d.code == case.code and d.fix is not None}
    assert fixable == codes("fix")


def test_every_rule_has_cases() -> None:
    assert codes("fail") == codes("pass") == set(ALL)
    assert {case.code for case in CASES if not case.command} == set(PROGRAMS)


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
