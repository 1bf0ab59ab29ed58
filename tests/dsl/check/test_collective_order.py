"""ORD107 and ORD108: collectives that nothing orders, and those that nothing waits for."""

from __future__ import annotations

from typing import Any

import pytest

from streamsched.dsl.trace.model import StorageKind

GROUPS = {"tp": StorageKind.PROCESS_GROUP, "ep": StorageKind.PROCESS_GROUP}

BY_HAND = """
    entry x
    record start default
    wait start side
    default one: x tp -> a tp
    side two: x ep -> b ep
    record b_done side
    wait b_done default
    default c: a b -> c
    exit c
"""


def orders(findings: Any, text: str) -> list[Any]:
    return findings(text, "ORD107", kinds=GROUPS)


def test_collectives_of_two_groups_on_two_streams(findings: Any) -> None:
    [found] = orders(findings, BY_HAND)
    assert found.message == ("nothing orders the collectives `one` of tp on `default` and `two` of ep on `side`")
    assert [related.span.line for related in found.related] == [4, 5]
    assert found.fix is not None
    assert "one -> two" in found.fix.edits[0].text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("    side two", "    record one_done default\n    wait one_done side\n    side two"),
        ("    side two", "    default two"),
        ("    side two: x ep -> b ep", "    side two: x -> b"),
    ],
    ids=["an order", "one stream", "one collective"],
)
def test_ordered(findings: Any, before: str, after: str) -> None:
    assert orders(findings, BY_HAND.replace(before, after)) == []


def test_one_group_on_two_streams(findings: Any) -> None:
    assert len(orders(findings, BY_HAND.replace("ep", "tp"))) == 1


def test_a_collective_that_a_call_completes_is_not_unawaited(findings: Any) -> None:
    assert findings(BY_HAND, "ORD108", kinds=GROUPS) == []
