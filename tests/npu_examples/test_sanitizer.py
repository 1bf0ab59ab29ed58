"""torch_npu's own sanitizer: nothing to report of `memory record_stream`, and of `memory auto` what is proved safe."""

from __future__ import annotations

from typing import Any

import pytest
from tiny import ALL

NAMES = sorted(ALL)
MISSING = "missing record_stream"
CALLS = 2


@pytest.fixture(scope="module")
def told(run_child: Any) -> dict[str, dict[str, Any]]:
    (found,) = run_child("sanitizer_child.py", *NAMES, TORCH_NPU_SANITIZER="1")
    return dict(found)


def test_it_reports_nothing_where_every_foreign_use_has_its_record_stream(told: dict[str, dict[str, Any]]) -> None:
    assert {name: each["record_stream"] for name, each in told["examples"].items()} == {name: [] for name in NAMES}


def test_it_reports_blocks_that_a_wait_behind_the_free_makes_safe(told: dict[str, dict[str, Any]]) -> None:
    """It looks at what was waited for until the free, not until the block is used again."""
    examples = told["examples"].values()
    assert [each["auto"] for each in examples] == [[MISSING] * each["early"] * CALLS for each in examples]
    assert any(each["early"] for each in examples)


@pytest.mark.parametrize(
    ("name", "line", "bug"),
    [
        ("multi_stream", "B_done.wait()", "RAW"),
        ("multi_stream", "B.record_stream(stream1)", MISSING),
        ("overwritten", "shared_done.wait()", "RAW"),
        ("overwritten", "doubled_done.wait()", "WAR"),
        ("overwritten", "shared_done_2.wait()", "WAW"),
    ],
)
def test_it_reports_what_it_claims_to_find(told: dict[str, dict[str, Any]], name: str, line: str, bug: str) -> None:
    reports = told["planted"][name]
    assert reports[""] == [], "with every line in its place"
    assert reports[line][0] == bug


def test_it_takes_tensors_without_memory_for_one(told: dict[str, dict[str, Any]]) -> None:
    """Why the runs above keep such tensors alive. When this fails since it no longer does: let them go."""
    assert told["empty"] == {"kept": [], "dropped": ["WAW"]}
