"""Fixing a schedule with several faults: no fix brings an error, whatever is fixed with it."""

from __future__ import annotations

import itertools
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from streamsched.dsl.diagnostic import Diagnostic, Edit, Fix, Severity, Span
from streamsched.dsl.files import ScheduleFile, read_schedule
from streamsched.dsl.lint.fixing import fixed
from streamsched.dsl.lint.linted import Linted
from streamsched.dsl.lint.linting import lint
from streamsched.dsl.lint.told import Told

EXAMPLE = Path(__file__).parents[3] / "examples" / "multi_stream"

SCHEDULE = """schedule a
model "model.py:Model"
input in1, in2, in3, in4: f16[1000, 1000]
stream stream1, stream2
group early = value "B"
group product = value "mm_result"
group sum = value "add2"
product on stream1
sum on stream2
early -> product
product -> sum
"""

FAULTS = [
    ("early -> product\n", ""),
    ("early -> product\n", "early => product\n"),
    ("early -> product\n", "early -> produkt\n"),
    ("product -> sum\n", "product -> sum\nearly -> sum\n"),
    ("product on stream1", "product on strem1"),
    ('group sum = value "add2"', 'group sum value "add2"'),
    ("stream stream1, stream2", "stream stream1, stream2, spare"),
    ("group early", 'group unused = value "mm1"\ngroup early'),
    ("schedule a\n", ""),
    ("sum on stream2", "sum on stream2  # streamsched: ignore[ORD104] once"),
]
PAIRS = list(itertools.combinations(FAULTS, 2))


@pytest.fixture
def right(tmp_path: Path) -> ScheduleFile:
    """A schedule without a fault, with its trace."""
    shutil.copy(EXAMPLE / "model.py", tmp_path)
    shutil.copy(EXAMPLE / "multi_stream.trace.json.gz", tmp_path / "a.trace.json.gz")
    (tmp_path / "a.sched").write_text(SCHEDULE)
    return read_schedule(str(tmp_path / "a.sched"))


def errors(linted: Linted) -> Counter[str]:
    return Counter(found.code for found in linted.told.found if found.severity is Severity.ERROR)


@pytest.mark.parametrize(
    "some", list(itertools.combinations(FAULTS, 2)), ids=lambda some: " and ".join(f[1] for f in some)
)
def test_no_fix_brings_an_error(right: ScheduleFile, some: tuple[tuple[str, str], ...]) -> None:
    text = right.text
    for fault in some:
        text = text.replace(*fault, 1)
    before = lint(replace(right, text=text))
    after = fixed(before.file, lint, unsafe=True)
    assert before.told.stops or errors(after) <= errors(before)
    assert not any(code.startswith("SYN") and errors(before)[code] < count for code, count in errors(after).items())
    assert fixed(after.file, lint, unsafe=True).fixes == 0


def test_an_edge_gives_a_group_a_use_again(right: ScheduleFile) -> None:
    text = right.text.replace("early -> product\n", "")
    codes = {found.code for found in lint(replace(right, text=text)).told.left}
    assert {"SYN202", "ORD101"} <= codes, "nothing uses the group, and the edge that is missing would"
    after = fixed(replace(right, text=text), lint, unsafe=True)
    assert "early -> product" in after.file.text
    assert all(found.severity is Severity.INFO for found in after.told.left)


SPAN = Span("a.sched", 1, 1, 1, 2)


def finding(code: str, *edits: Edit, severity: Severity = Severity.ERROR) -> Diagnostic:
    return Diagnostic(code, "some-rule", severity, code, SPAN, fix=Fix("mend", edits) if edits else None)


def word(place: int, text: str) -> Edit:
    """The edit of a one-letter word of a text."""
    return Edit(Span("a.sched", 1, place, 1, place + 1), text)


def after_fixes(text: str, results: dict[str, tuple[list[Diagnostic], bool]]) -> Linted:
    """Fix a text; `results` are what each text that comes up has, and whether that kept it from being checked."""

    def check(file: ScheduleFile) -> Linted:
        found, stopped = results[file.text]
        return Linted(file, Told(tuple(found), tuple(found), frozenset(found) if stopped else frozenset()))

    return fixed(ScheduleFile("a.sched", text, "", ""), check, unsafe=True)


ONE = finding("ORD101", word(1, "x"))


def test_fixes_that_together_bring_an_error_are_applied_alone() -> None:
    two = finding("ORD102", word(3, "y"))
    results = {"a b": ([ONE, two], False), "x b": ([], False), "x y": ([finding("SYN103")], True)}
    after = after_fixes("a b", results)
    assert (after.file.text, after.fixes, after.told.left) == ("x b", 1, ())


def test_a_fix_that_brings_an_error_is_not_applied() -> None:
    after = after_fixes("a b", {"a b": ([ONE], False), "x b": ([finding("SYN103")], True)})
    assert (after.file.text, after.fixes) == ("a b", 0)


def test_a_fix_may_show_what_an_error_has_hidden() -> None:
    syntax = finding("SYN101", word(1, "x"))
    after = after_fixes("a b", {"a b": ([syntax], True), "x b": ([finding("ORD101")], False)})
    assert (after.file.text, after.fixes) == ("x b", 1)


def test_of_two_such_fixes_both_are_applied() -> None:
    one, two = finding("SYN103", word(1, "x")), finding("SYN103", word(3, "y"))
    hidden = finding("ORD101")
    results = {
        "a b": ([one, two], True),
        "x b": ([two], True),
        "a y": ([one], True),
        "x y": ([hidden], False),
    }
    after = after_fixes("a b", results)
    assert (after.file.text, after.fixes) == ("x y", 2)
