"""On a difference, verify says which output of which call, how far, under which order, and shows what races."""

from __future__ import annotations

import re
from typing import Any


def test_a_lost_wait_is_reported_with_its_launches(run_child: Any) -> None:
    ((text, wrong_calls),) = run_child("planted_child.py")
    assert re.search(
        r"DIFFERS: output\[2\] of call 1 under side streams first: \d+ of 64 elements differ, by up to ", text
    )
    assert re.search(
        r"launch log: `Mm#2` on `stream1` reads .* that `Add#1` on `default` writes, and nothing orders", text
    )
    assert re.search(r"> +\d+  default Add#1 reads ", text) and re.search(r"> +\d+  stream1 Mm#2 reads ", text)
    assert wrong_calls == [[0], [1], [2]], "each wrong call shows, though the next replay overwrites what it returned"
