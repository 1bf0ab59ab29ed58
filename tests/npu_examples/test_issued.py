"""The launch log of the generated forwards, read back as a program: free of races, and no sync but those expected."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from tiny import ALL, SCOPED, SIZES

NAMES = sorted(ALL)

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

CALLS = 2
"""Calls in an eager log."""


@pytest.fixture(scope="module")
def issued(run_child: Any, everything: bool) -> dict[tuple[str, str], dict[str, Any]]:
    """By example and engine; of those with modules in scope one is compiled where not everything is asked for."""
    compiled = ALL.keys() if everything else SIZES.keys() | {"llama_decode"}
    results = run_child("issued_child.py", "npugraph_ex", *sorted(compiled)) + run_child(
        "issued_child.py", "npu", *NAMES
    )
    found = {(each["name"], each["engine"]): each for each in results}
    assert found.keys() == {(n, "npugraph_ex") for n in compiled} | {(n, "npu") for n in NAMES}
    return found


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
    assert {key: found["errors"] for key, found in issued.items() if found["errors"]} == {}


def test_a_wait_taken_out_of_a_log_is_found(issued: dict[tuple[str, str], dict[str, Any]]) -> None:
    for (name, engine), found in issued.items():
        planned = found["waits"][1] * found["times"] * (1 if engine == "npugraph_ex" else CALLS)
        if name in SCOPED:  # each of their waits is there for data, and nothing that is inserted stands in for it
            assert found["needed"] == planned, (name, engine)
        else:
            assert found["needed"] > 0 or len(found["doubled"]) == planned, (name, engine)


def test_multi_stream_is_issued_as_documented(issued: dict[tuple[str, str], dict[str, Any]]) -> None:
    assert "\n".join(renamed(issued["multi_stream", "npugraph_ex"]["steps"])) == DOCUMENTED


@pytest.mark.parametrize("name", NAMES)
def test_no_sync_but_the_plan_s_and_the_inserted(issued: dict[tuple[str, str], dict[str, Any]], name: str) -> None:
    found = issued[name, "npu"]
    assert found["waits"][0] == found["waits"][1] * found["times"] * CALLS
    if (name, "npugraph_ex") not in issued:
        return
    found = issued[name, "npugraph_ex"]
    (records, planned_records), (waits, planned_waits) = found["records"], found["waits"]
    assert records == planned_records * found["times"] + 1 + found["sides"]
    assert waits == planned_waits * found["times"] + 2 * found["sides"]


def test_how_many_syncs_double_each_other(issued: dict[tuple[str, str], dict[str, Any]]) -> None:
    """None of a module in scope does: the graph's fork comes before all calls of its forward, the join behind them."""
    found = {name: len(found["doubled"]) for (name, engine), found in issued.items() if engine == "npugraph_ex"}
    assert found == {
        "deepseek_moe": 1,
        "dlrm": 1,
        "inception": 3,
        "limit_cores": 2,
        "multi_stream": 1,
        "side_branch": 0,
        "tp_moe": 0,
        "two_tower": 1,
        "w8a8_shared_expert": 1,
    } | dict.fromkeys(SCOPED.keys() & found.keys(), 0)


def test_no_wait_of_an_eager_run_is_doubled(issued: dict[tuple[str, str], dict[str, Any]]) -> None:
    assert {name: found["doubled"] for (name, engine), found in issued.items() if engine == "npu"} == {
        name: [] for name in NAMES
    }
