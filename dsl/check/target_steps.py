"""What the TGT rules share: which steps of a recorded forward were spelled in a certain way."""

from __future__ import annotations

from collections.abc import Iterator

from streamsched.dsl.check.facts import Facts
from streamsched.dsl.program import via
from streamsched.dsl.program.steps import StepKind

NPUGRAPH_EX = "npugraph_ex"
NPU = "npu"

HOST_WAITS = frozenset({via.STREAM_SYNCHRONIZE, via.EVENT_SYNCHRONIZE, via.DEVICE_SYNCHRONIZE})
"""The host syncs of which TGT says what npugraph_ex makes of them."""


def is_npugraph_ex(facts: Facts) -> bool:
    """Whether npugraph_ex compiles the program."""
    return facts.program.target == NPUGRAPH_EX


def spelled(facts: Facts, word: str, *kinds: StepKind) -> Iterator[int]:
    """The steps of some kinds whose `via` holds `word`: the first for each stream and event, as one call makes many."""
    seen: set[tuple[int, int]] = set()
    for index in facts.of(*kinds):
        step = facts.program.steps[index]
        if step.via and word in via.words(step) and (step.stream, step.event) not in seen:
            seen.add((step.stream, step.event))
            yield index
