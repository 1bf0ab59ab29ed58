from __future__ import annotations

from dataclasses import replace

import pytest

from streamsched.dsl.diagnostic import Diagnostic, Severity
from streamsched.dsl.report.style import wants_colour
from streamsched.dsl.report.summary import summary


@pytest.mark.parametrize(
    ("severities", "expected"),
    [
        ("", ""),
        ("E", "1 error"),
        ("WEE", "2 errors, 1 warning"),
        ("III", "3 remarks"),
    ],
)
def test_summary_counts(missing_edge: Diagnostic, severities: str, expected: str) -> None:
    kinds = {"E": Severity.ERROR, "W": Severity.WARNING, "I": Severity.INFO}
    assert summary([replace(missing_edge, severity=kinds[letter]) for letter in severities]) == expected


@pytest.mark.parametrize(
    ("environment", "terminal", "expected"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"TERM": "dumb"}, True, False),
    ],
)
def test_colour_is_for_terminals(environment: dict[str, str], terminal: bool, expected: bool) -> None:
    class Stream:
        def isatty(self) -> bool:
            return terminal

    assert wants_colour(Stream(), environment) is expected  # type: ignore[arg-type]
