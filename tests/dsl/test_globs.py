"""Ranges in globs: as regular expressions that a person would write."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamsched.dsl.globs import compile_glob


@pytest.mark.parametrize(
    ("glob", "pattern"),
    [
        ("{3..60}", "(?:[3-9]|[1-5][0-9]|60)"),
        ("layers.{7..7}", r"layers\.(?:7)"),
        ("{95..123}", "(?:9[5-9]|1[0-1][0-9]|12[0-3])"),
        ("{0..999}", "(?:[0-9]|[1-9][0-9]|[1-9][0-9][0-9])"),
        ("{3..4,x}", "(?:[3-4]|x)"),
        ("{4..3}", "(?:(?!))"),
    ],
)
def test_the_pattern_of_a_range(glob: str, pattern: str) -> None:
    assert compile_glob(glob).pattern == pattern


@given(st.integers(0, 2000), st.integers(0, 2000), st.integers(0, 30))
def test_a_range_matches_its_numbers_alone(first: int, last: int, near: int) -> None:
    pattern = compile_glob(f"{{{first}..{last}}}")
    for number in {first, last, first + near, max(first - near, 0), last + near, max(last - near, 0), near}:
        assert bool(pattern.fullmatch(str(number))) == (first <= number <= last)
    assert not pattern.fullmatch(f"0{first}")
