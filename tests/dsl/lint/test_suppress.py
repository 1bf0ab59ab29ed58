"""Comments that suppress findings: which lines they speak of, and what is wrong with them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamsched.dsl.config.config import Config
from streamsched.dsl.diagnostic import Diagnostic, Severity, Span, apply_edits
from streamsched.dsl.lint.suppress import Ignore, in_python, in_schedule
from streamsched.dsl.lint.told import Told, tell
from streamsched.dsl.rules import ALL
from streamsched.dsl.syntax.parser import parse

SCHEDULE = """\
schedule a
stream s
a, b -> c    # streamsched: ignore[ORD104] behind
# streamsched: ignore[ORD101, MEM101] on the next

a -> b
a,           # streamsched: ignore[ORD102] inside
b -> d
c -> d
"""


def found(code: str, line: int, severity: Severity = Severity.WARNING, file: str = "a.sched") -> Diagnostic:
    return Diagnostic(code, ALL[code].name, severity, f"`{code}`", Span(file, line, 1, line, 2))


def told(text: str, *diagnostics: Diagnostic, complete: bool = True, config: Config | None = None) -> Told:
    ignores = in_schedule(parse(text, "a.sched").schedule)
    return tell(diagnostics, config or Config(), ignores, complete, ALL.keys)


def left(text: str, *diagnostics: Diagnostic) -> list[tuple[str, int]]:
    return [(d.code, d.span.line) for d in told(text, *diagnostics).left if not d.code.startswith("SUP")]


def test_a_comment_speaks_of_its_statement() -> None:
    everything = [found(code, line) for code in ("ORD101", "ORD102", "ORD104", "MEM101") for line in range(1, 10)]
    hidden = {("ORD104", 3), ("ORD101", 6), ("MEM101", 6), ("ORD102", 7), ("ORD102", 8)}
    assert set(left(SCHEDULE, *everything)) == {(d.code, d.span.line) for d in everything} - hidden


def test_a_finding_in_another_file_is_told() -> None:
    assert left(SCHEDULE, found("ORD104", 3, file="b.sched")) == [("ORD104", 3)]


def test_the_order_of_findings_is_kept() -> None:
    given = [found("ORD104", line) for line in (9, 1, 3, 5)]
    assert left(SCHEDULE, *given) == [("ORD104", 9), ("ORD104", 1), ("ORD104", 5)]


def comments(text: str, *diagnostics: Diagnostic, complete: bool = True) -> list[tuple[str, str]]:
    """What is told of the comments: the code and the text that is pointed at."""
    lines = text.split("\n")
    result = told(text, *diagnostics, complete=complete).left
    return [
        (d.code, lines[d.span.line - 1][d.span.column - 1 : d.span.end_column - 1])
        for d in result
        if d.code.startswith("SUP")
    ]


def test_a_comment_that_suppresses_nothing() -> None:
    text = "schedule a  # streamsched: ignore[ORD104] why\n"
    assert comments(text) == [("SUP101", "# streamsched: ignore[ORD104] why")]
    assert comments(text, found("ORD104", 1)) == []
    assert comments(text, complete=False) == []


def test_a_rule_that_is_not_selected_is_still_found_by_the_comment() -> None:
    text = "schedule a  # streamsched: ignore[ORD104] why\n"
    assert told(text, found("ORD104", 1), config=Config(ignore=("ORD104",))).left == ()


@pytest.mark.parametrize(
    ("codes", "place", "fixed"),
    [
        ("ORD104, MEM101", "MEM101", "ORD104"),
        ("MEM101, ORD104", "MEM101", "ORD104"),
        ("ORD104,MEM101,ORD104", "MEM101", "ORD104,ORD104"),
    ],
)
def test_one_of_several_codes_is_unused(codes: str, place: str, fixed: str) -> None:
    text = f"schedule a  # streamsched: ignore[{codes}] why\n"
    (unused,) = told(text, found("ORD104", 1)).left
    assert comments(text, found("ORD104", 1)) == [("SUP101", place)]
    assert unused.fix is not None
    assert unused.fix.safe
    assert apply_edits(text, unused.fix.edits) == f"schedule a  # streamsched: ignore[{fixed}] why\n"


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("# streamsched: ignore[ORD104]", [("SUP102", "# streamsched: ignore[ORD104]")]),
        ("# note # streamsched: ignore[ORD104]", [("SUP102", "# streamsched: ignore[ORD104]")]),
        ("# streamsched: ignore", [("SUP103", "# streamsched: ignore")]),
        ("# streamsched: ignore[] why", [("SUP103", "# streamsched: ignore[] why")]),
        ("# streamsched: ignore[ORD104, ORD999] why", [("SUP103", "ORD999")]),
        ("# streamsched: ignroe[ORD104] why", [("SUP103", "# streamsched: ignroe[ORD104] why")]),
        ("# streamsched: noqa", [("SUP103", "# streamsched: noqa")]),
        ("# streamsched: disable=ORD104", [("SUP103", "# streamsched: disable=ORD104")]),
        ("# streamsched: disable ORD104", [("SUP103", "# streamsched: disable ORD104")]),
        ("# streamsched: skip-file", [("SUP103", "# streamsched: skip-file")]),
        ("# streamsched:", [("SUP103", "# streamsched:")]),
        ("# streamsched: ignore[ORD] why", [("SUP103", "ORD")]),
        ("# streamsched: ignore[ORD104] why  # streamsched: off", [("SUP103", "# streamsched: off")]),
        ("# streamsched: 0.1.0", []),
        ("# see streamsched: it ignores[ORD104] this", []),
    ],
)
def test_what_is_wrong_with_a_comment(comment: str, expected: list[tuple[str, str]]) -> None:
    assert comments(f"schedule a  {comment}\n", found("ORD104", 1)) == expected


def test_an_error_that_stops_the_check_is_told_whatever_is_said() -> None:
    text = "schedule a  # streamsched: ignore[SEL101] why\n"
    error = found("SEL101", 1, Severity.ERROR)
    quiet = Config(select=("ORD",), severity=(("SEL", Severity.INFO),))
    stopped = told(text, error, found("SYN104", 1), complete=False, config=quiet)
    assert stopped.left == (error,)
    assert stopped.stops == {error}
    assert told(text, error, config=Config()).left == ()
    assert told("schedule a\n", error, config=replace(quiet, select=("ALL",))).left[0].severity is Severity.INFO


PYTHON = """\
import torch

def forward(self, x):  # streamsched: ignore[CAP101] the head
    # streamsched: ignore[ORD101] the next
    y = torch.mm(
        x,
        self.w,
    )
    text = "# streamsched: ignore[ORD101] a string"
    with torch.cuda.stream(self.s):
        z = y + 1  # streamsched: ignore[MEM101] behind
    return (
        z +
        1  # streamsched: ignore[ORD102] inside
    )
"""


def test_python() -> None:
    ignores = in_python(PYTHON, "m.py")
    assert [(ignore.codes[0].text, ignore.first, ignore.last) for ignore in ignores] == [
        ("CAP101", 3, 4),
        ("ORD101", 5, 8),
        ("MEM101", 11, 11),
        ("ORD102", 12, 15),
    ]
    assert ignores[0].span == Span("m.py", 3, 24, 3, 62)


@pytest.mark.parametrize("text", ["", "x = (  # streamsched: ignore[ORD101] why", "\x00# streamsched: ignore[A]"])
def test_what_is_no_python_has_no_comments(text: str) -> None:
    assert in_python(text, "m.py") == []


def test_decorators_and_matches_belong_to_their_statement() -> None:
    decorated = "@decorate  # streamsched: ignore[ORD101] a\ndef f(): pass\n"
    text = f"{decorated}match x:  # streamsched: ignore[ORD102] b\n    case 1: pass\n"
    assert [(ignore.first, ignore.last) for ignore in in_python(text, "m.py")] == [(1, 2), (3, 3)]


def test_an_ignore_covers_its_file_lines_and_codes_only() -> None:
    (ignore,) = in_schedule(parse("schedule a  # streamsched: ignore[ORD104] why\n", "a.sched").schedule)
    assert isinstance(ignore, Ignore)
    assert ignore.covers(found("ORD104", 1), ignore.codes[0])
    assert not ignore.covers(found("ORD101", 1), ignore.codes[0])
    assert not ignore.covers(found("ORD104", 2), ignore.codes[0])
