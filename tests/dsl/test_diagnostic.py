from __future__ import annotations

import pytest

from streamsched.dsl.diagnostic import Edit, Span, apply_edits
from streamsched.dsl.nearest import nearest, nearest_paths


def span(line: int, column: int, end_line: int, end_column: int) -> Span:
    return Span("x", line, column, end_line, end_column)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_edits_mean_the_original_text(newline: str) -> None:
    text = newline.join(("one", "two", "three"))
    edits = (Edit(span(1, 1, 1, 4), "1"), Edit(span(3, 6, 3, 6), "!"), Edit(span(2, 1, 3, 1), ""))
    assert apply_edits(text, edits) == newline.join(("1", "three!"))


def test_a_line_separator_of_unicode_ends_no_line() -> None:
    assert apply_edits("# a\u2028b\nc", (Edit(span(2, 1, 2, 2), "d"),)) == "# a\u2028b\nd"


def test_an_edit_past_the_end_appends() -> None:
    assert apply_edits("a", (Edit(span(1, 1, 2, 1), ""),)) == ""
    assert apply_edits("a\n", (Edit(span(2, 1, 2, 1), "b\n"),)) == "a\nb\n"


def test_a_span_must_not_end_before_it_begins() -> None:
    with pytest.raises(AssertionError):
        span(2, 1, 1, 9)


def test_nearest_ignores_case_and_refuses_what_is_far() -> None:
    assert nearest("Strem", ["stream", "group"]) == "stream"
    assert nearest("zzz", ["stream", "group"]) is None


def test_nearest_paths_know_the_last_segment() -> None:
    assert nearest_paths("mlp.up_proj", ["layers.0.mlp.up_proj", "head"]) == ["layers.0.mlp.up_proj"]
