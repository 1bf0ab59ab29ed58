"""What compiles under the npugraph_ex of torch_npu 2.13.0 without a word and is wrong, while eager mode is right.

Each hazard names the stream order that must show it, and is right in serial order: the fault is one of order. A test
that fails because the graph is right is good news: take the row out of docs/targets.md and the rule out of family TGT
for that version.
"""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(scope="module")
def silent(results_of: Any) -> Any:
    return results_of("silent_child.py")


@pytest.mark.parametrize(
    ("name", "order"),
    [
        ("record_by_stream", "side_first"),
        ("record_and_wait_by_stream", "side_first"),
        ("default_waits_event_in_block", "side_last"),
        ("event_waits_on_default_in_block", "side_last"),
        ("event_recorded_on_default_in_block", "side_first"),
        ("event_recorded_twice", "side_last"),
        ("variable_that_holds_memory", "side_last"),
        ("input_written_on_side_stream", "side_last"),
        ("event_recorded_by_the_caller", "side_last"),
        ("event_waited_for_by_the_caller", "side_first"),
        ("work_before_graph", "side_last"),
        ("synchronize", "side_first"),
        ("query", "side_first"),
    ],
)
def test_wrong_in_the_graph_and_right_eagerly(silent: Any, name: str, order: str) -> None:
    assert silent[name]["eager"] == [], "stream orders that give wrong numbers eagerly"
    assert order in silent[name]["graph"]
    assert "serial" not in silent[name]["graph"]


@pytest.mark.parametrize(
    "name",
    [
        "wait_by_stream",
        "event_recorded_on_other_in_block",
        "stream_that_only_waits_and_is_joined",
        "variable_with_record_stream",
    ],
)
def test_the_like_that_is_right(silent: Any, name: str) -> None:
    assert silent[name] == {"eager": [], "graph": []}


def test_timing_is_dropped(silent: Any) -> None:
    assert silent["elapsed"]["eager"] is True
    assert "Both events must be recorded before calculating elapsed time" in silent["elapsed"]["graph"]


@pytest.mark.parametrize("mode", ["eager", "graph"])
def test_core_limit_around_a_block_does_not_reach_it(silent: Any, mode: str) -> None:
    everything, limited = [24, 48], [4, 8]
    assert silent["limit_around_block"][mode] == {"aclnnAdds": limited, "aclnnMatmul": everything}
    assert silent["limit_inside_block"][mode] == {"aclnnAdds": everything, "aclnnMatmul": limited}
    assert silent["limit_of_stream"][mode] == {"aclnnAdds": everything, "aclnnMatmul": limited}
