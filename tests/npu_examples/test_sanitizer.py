"""torch_npu's own sanitizer: no race in what is generated, a missing record_stream only where it looks too early."""

from __future__ import annotations

from typing import Any

import pytest
from tiny import TINY

MISSING = "NPUSanitizer: missing record_stream detected!"


@pytest.fixture(scope="module")
def reports(run_child: Any) -> dict[str, tuple[int, list[list[str]]]]:
    """By example: the blocks that a call frees ahead of the wait that makes them safe, and what is reported."""
    found = run_child("sanitizer_child.py", *sorted(TINY), TORCH_NPU_SANITIZER="1")
    return {name: (early, told) for name, early, told in found}


def test_it_reports_only_blocks_that_are_freed_ahead_of_their_wait(
    reports: dict[str, tuple[int, list[list[str]]]],
) -> None:
    assert {name: told[0] for name, (_, told) in reports.items()} == {
        name: [MISSING] * early * 2 for name, (early, _) in reports.items()
    }


def test_it_reports_what_it_claims_to_find(reports: dict[str, tuple[int, list[list[str]]]]) -> None:
    early, (as_generated, missing_wait, missing_record_stream) = reports["multi_stream"]
    assert early == 0 and as_generated == []
    assert "CUDASanitizerErrors" in missing_wait
    assert MISSING in missing_record_stream
