"""The launch log of the generated forwards, read back as a program: free of races, and no sync but those expected."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from tiny import TINY

DOCUMENTED = """\
default record fork
stream2 wait fork
stream1 wait fork
default Add
default Add
default record B
stream1 wait B
stream1 Mm
stream1 record mm_result
default Mm
stream2 wait mm_result
stream2 Add
stream2 record add2
default wait add2
stream1 record join1
default wait join1
stream2 record join2
default wait join2"""
"""The launches of the example in npugraph_ex's documentation, with the plan's join and the inserted syncs."""


@pytest.fixture(scope="module")
def issued(run_child: Any) -> dict[tuple[str, str], dict[str, Any]]:
    return {(found["name"], found["engine"]): found for found in run_child("issued_child.py", *sorted(TINY))}


def renamed(steps: list[str]) -> Iterator[str]:
    """The steps with the names that DOCUMENTED gives to streams and events, by first appearance."""
    names: dict[str, str] = {}
    events = iter(["fork", "B", "mm_result", "add2", "join1", "join2"])
    streams = iter(["stream2", "stream1"])
    for step in steps:
        words = re.sub(r"#\d+", "", step).split()
        for word in words:
            if re.fullmatch(r"[se]\d+", word) and word not in names:
                names[word] = next(streams if word[0] == "s" else events)
        yield " ".join(names.get(word, word) for word in words)


def test_what_is_issued_is_free_of_races(issued: dict[tuple[str, str], dict[str, Any]]) -> None:
    assert len(issued) == 2 * len(TINY)
    assert {key: found["errors"] for key, found in issued.items() if found["errors"]} == {}


def test_a_wait_taken_out_of_a_log_is_found(issued: dict[tuple[str, str], dict[str, Any]]) -> None:
    for key, found in issued.items():
        assert found["needed"] > 0 or len(found["doubled"]) == found["waits"][1], key


def test_multi_stream_is_issued_as_documented(issued: dict[tuple[str, str], dict[str, Any]]) -> None:
    assert "\n".join(renamed(issued["multi_stream", "npugraph_ex"]["steps"])) == DOCUMENTED


@pytest.mark.parametrize("name", sorted(TINY))
def test_no_sync_but_the_plan_s_and_the_inserted(issued: dict[tuple[str, str], dict[str, Any]], name: str) -> None:
    found = issued[name, "npugraph_ex"]
    (records, planned_records), (waits, planned_waits) = found["records"], found["waits"]
    assert records == planned_records + 1 + found["sides"]
    assert waits == planned_waits + 2 * found["sides"]
    assert issued[name, "npu"]["waits"] == [2 * planned_waits, planned_waits]  # two calls


def test_how_many_syncs_double_each_other(issued: dict[tuple[str, str], dict[str, Any]]) -> None:
    assert {name: len(found["doubled"]) for (name, engine), found in issued.items() if engine == "npugraph_ex"} == {
        "deepseek_moe": 1,
        "dlrm": 1,
        "inception": 3,
        "limit_cores": 2,
        "multi_stream": 1,
        "side_branch": 0,
        "two_tower": 1,
        "w8a8_shared_expert": 1,
    }
