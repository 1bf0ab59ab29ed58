"""What is still there after the next call of an npugraph_ex graph of torch_npu 2.13.0; eagerly all of it is.

A test that fails because less is overwritten is good news: take the row out of docs/targets.md, and the rule out of
family TGT for that version.
"""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(scope="module")
def changed(results_of: Any) -> Any:
    return results_of("kept_child.py")


def test_eagerly_nothing_is_overwritten(changed: Any) -> None:
    assert {name: of["eager"] for name, of in changed.items()} == {name: [] for name in changed}


@pytest.mark.parametrize("name", ["view", "row", "contiguous"])
def test_a_view_of_an_input_gives_the_graph_the_callers_tensor(changed: Any, name: str) -> None:
    assert changed[name]["default"] == ["result", "other", "input"]
    assert changed[name]["clone_output=True"] == ["other", "input"]


@pytest.mark.parametrize("name", ["whole", "view_of_written", "view_of_result", "copied_view"])
def test_the_like_leaves_the_callers_tensor_alone(changed: Any, name: str) -> None:
    assert "input" not in changed[name]["default"]
    assert changed[name]["clone_output=True"] == []


@pytest.mark.parametrize("name", ["whole", "view_of_result", "copied_view"])
def test_results_are_overwritten(changed: Any, name: str) -> None:
    assert "result" in changed[name]["default"]


@pytest.mark.parametrize("name", ["whole", "view_of_result", "copied_view"])
def test_without_clone_input_the_first_input_is_overwritten(changed: Any, name: str) -> None:
    assert "input" in changed[name]["clone_input=False"]
