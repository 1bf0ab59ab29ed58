"""What torch_npu 2.13.0 refuses to compile under npugraph_ex, with the words in which it says so.

A test that fails here because nothing fails any more is good news: take the row out of docs/targets.md and the rule out
of family TGT for that version.
"""

from __future__ import annotations

from typing import Any

import pytest

NOT_FOUND = "Can not find stream: get_external_object_by_index in FX graph"


@pytest.fixture(scope="module")
def rejected(results_of: Any) -> Any:
    return results_of("rejected_child.py")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("wait_stream", "TypeError: unhashable type: 'dict'"),
        ("stream_synchronize", "TypeError: unhashable type: 'dict'"),
        ("event_synchronize", "TypeError: unhashable type: 'dict'"),
        ("record_makes_event", "KeyError"),
        ("generic_event", "KeyError"),
        ("generic_stream", "error code is 107025"),
        ("generic_stream_in_npu_block", NOT_FOUND),
        ("stream_never_entered", "error code is 107025"),
        ("break_in_block", NOT_FOUND),
        ("break_between_stream_and_block", NOT_FOUND),
        ("break_between_record_and_block", "KeyError"),
        ("stream_left_set", "you must make sure at the end of your code set stream to the same stream"),
        (
            "event_after_input_was_written",
            "An event was recorded on a stream where a graph input was previously mutated",
        ),
        ("set_stream_limit", "Dynamo does not know how to trace the builtin `torch_npu._C._npu_set_stream_res_limit.`"),
        ("default_stream", "torch.* op returned non-Tensor"),
        ("stream_none", "'ConstantVariable' object has no attribute 'device'"),
        ("external_event", "Dynamo does not know how to trace method `__new__`"),
        ("training", "No module named 'triton"),
        ("grouped_mm", "error code:107027"),
    ],
)
def test_rejected_by_the_graph_and_right_eagerly(rejected: Any, name: str, words: str) -> None:
    assert rejected[name]["eager"] == [], "stream orders that give wrong numbers eagerly"
    assert words in rejected[name]["failure"]


def test_graph_break_apart_from_streams_is_accepted(rejected: Any) -> None:
    assert rejected["break_apart_from_streams"] == {"eager": [], "failure": ""}


def test_an_event_after_a_function_wrote_the_input_is_accepted_and_right(rejected: Any) -> None:
    """What generated code relies on to update caches in place: Dynamo looks for writes only after methods."""
    assert rejected["event_after_a_function_wrote_the_input"] == {"failure": "", "graph": []}
