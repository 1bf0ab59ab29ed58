"""Applying fixes to a text: which can be applied together, and what they leave behind."""

from __future__ import annotations

import pytest

from streamsched.dsl.diagnostic import Diagnostic, Edit, Fix, Severity, Span
from streamsched.dsl.lint.mend import applied, steps

TEXT = "schedule a\nstream s, t\n\na -> b  # why\nc -> d\n"


def found(*edits: tuple[int, int, int, int, str], safe: bool = True, file: str = "a.sched") -> Diagnostic:
    """A finding with a fix."""
    fix = Fix("mend", tuple(Edit(Span(file, *place), text) for *place, text in edits), safe)  # type: ignore[misc]
    return Diagnostic("ORD104", "redundant-edge", Severity.INFO, "x", Span("a.sched", 1, 1, 1, 1), fix=fix)


def mended(text: str, *diagnostics: Diagnostic, unsafe: bool = False) -> tuple[str, int] | None:
    done = next(steps(text, "a.sched", diagnostics, unsafe), None)
    return None if done is None else (done.text, done.fixes)


def test_fixes_apart_are_applied_together() -> None:
    both = (found((1, 10, 1, 11, "b")), found((5, 1, 5, 2, "x")))
    assert mended(TEXT, *both) == ("schedule b\nstream s, t\n\na -> b  # why\nx -> d\n", 2)


def test_of_fixes_that_touch_the_first_is_applied() -> None:
    end = (6, 1, 6, 1)
    assert mended(TEXT, found((*end, "a -> d\n")), found((*end, "b -> c\n"))) == (TEXT + "a -> d\n", 1)
    assert mended(TEXT, found((5, 1, 5, 7, "x -> y")), found((5, 6, 5, 7, "e"))) == (
        TEXT.replace("c -> d", "x -> y"),
        1,
    )


def test_what_puts_in_comes_before_what_takes_out() -> None:
    out, in_ = found((2, 1, 3, 1, "")), found((6, 1, 6, 1, "a -> d\n"))
    assert mended(TEXT, out, in_) == (TEXT + "a -> d\n", 1)
    assert mended(TEXT, found((2, 1, 3, 1, "# why\n")), in_) == (TEXT + "a -> d\n", 1)
    assert mended(TEXT, out, found((5, 1, 6, 1, ""))) == ("schedule a\n\na -> b  # why\n", 2)


def test_fixes_are_offered_together_then_alone() -> None:
    one, other, touching = found((1, 10, 1, 11, "b")), found((5, 1, 5, 2, "x")), found((5, 1, 5, 2, "y"))
    offered = list(steps(TEXT, "a.sched", (one, other, touching), unsafe=False))
    assert [step.fixes for step in offered] == [2, 1, 1, 1]
    assert [step.text.splitlines()[4][0] for step in offered] == ["x", "c", "x", "y"]


def test_unsafe_fixes_are_asked_for() -> None:
    unsafe = found((5, 1, 5, 2, "x"), safe=False)
    assert mended(TEXT, unsafe) is None
    assert mended(TEXT, unsafe, unsafe=True) is not None


def test_a_fix_of_another_file_is_left_to_people() -> None:
    assert mended(TEXT, found((1, 1, 1, 2, "x"), file="model.py"), unsafe=True) is None


def test_a_text_that_could_be_read_can_be_read_after() -> None:
    breaks, mends = found((4, 1, 4, 2, "-> ->")), found((5, 1, 5, 2, "x"))
    assert mended(TEXT, breaks) is None
    assert mended(TEXT, breaks, mends) == (TEXT.replace("c -> d", "x -> d"), 1)


def test_a_text_that_cannot_be_read_gets_no_worse() -> None:
    broken = TEXT + "=> x\n"
    assert mended(broken, found((6, 1, 6, 3, "a ->"))) == (TEXT + "a -> x\n", 1)
    assert mended(broken, found((5, 1, 5, 2, "=>"))) is None


def test_a_fix_that_changes_nothing_is_none() -> None:
    assert mended(TEXT, found((1, 10, 1, 11, "a"))) is None
    assert mended(TEXT) is None


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        ((5, 1, 5, 7, ""), "schedule a\nstream s, t\n\na -> b  # why\n"),  # a statement: no empty line is left
        ((4, 1, 4, 7, ""), "schedule a\nstream s, t\n\n# why\nc -> d\n"),  # its comment stays
        ((4, 9, 4, 14, ""), "schedule a\nstream s, t\n\na -> b\nc -> d\n"),  # a comment: no space is left
        ((4, 1, 5, 1, ""), "schedule a\nstream s, t\n\nc -> d\n"),  # whole lines
        ((2, 9, 2, 12, ""), "schedule a\nstream s\n\na -> b  # why\nc -> d\n"),
        ((2, 8, 2, 11, ""), "schedule a\nstream t\n\na -> b  # why\nc -> d\n"),
        ((2, 1, 3, 1, ""), "schedule a\n\na -> b  # why\nc -> d\n"),
        ((2, 1, 2, 12, "\n"), "schedule a\n\n\n\na -> b  # why\nc -> d\n"),
    ],
)
def test_what_is_taken_out_leaves_nothing_behind(edit: tuple[int, int, int, int, str], expected: str) -> None:
    *place, text = edit
    assert applied(TEXT, [Edit(Span("a.sched", *place), text)]) == expected  # type: ignore[call-arg]


def test_the_last_line_without_a_newline() -> None:
    assert applied("a\nb  # c", [Edit(Span("f", 2, 4, 2, 7), "")]) == "a\nb"
    assert applied("a\nb", [Edit(Span("f", 2, 1, 2, 2), "")]) == "a\n"
