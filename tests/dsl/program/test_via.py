"""The vocabulary of `Step.via`."""

from __future__ import annotations

import pytest

from streamsched.dsl.program import via
from streamsched.dsl.program.steps import Step, StepKind


def step(spelling: str) -> Step:
    return Step(StepKind.LAUNCH, 0, "mm", via=spelling)


def test_generated_steps_say_nothing():
    assert via.words(step("")) == frozenset()
    assert via.block(step("")) == ""


def test_words_and_block_of_one_step():
    both = step(via.join(via.GENERIC_STREAM, via.within("side")))
    assert via.words(both) == {"torch.Stream", "with side"}
    assert via.block(both) == "side"


def test_a_word_cannot_hold_what_joins_words():
    with pytest.raises(AssertionError):
        via.join("a, b")
