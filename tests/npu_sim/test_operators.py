"""The operand direction table, and operators that cannot run."""

import re
from typing import Any

import pytest

from streamsched.npu_sim import build

KINDS = [
    "list",
    "scalar",
    "scalars",
    "ints",
    "floats",
    "bools",
    "i64",
    "i32",
    "i8",
    "bool",
    "f64",
    "f32",
    "str",
    "dtype",
]
ENTRIES = [line.split() for line in build.OPERATORS.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry[0] for entry in ENTRIES])
def test_entry_is_well_formed(entry: list[str]) -> None:
    assert all(re.fullmatch(rf"[>&]?[a-z_0-9]+(@[a-z]+)?(:({'|'.join(KINDS)}))?", word) for word in entry[1:])
    assert any(word[0] in ">&" for word in entry[1:]), "an operator writes something"


def test_each_operator_has_one_entry() -> None:
    names = [entry[0] for entry in ENTRIES]
    assert len(names) == len(set(names))


@pytest.mark.usefixtures("simulated")
def test_the_wheel_has_every_operator_of_the_table() -> None:
    names = build.operator_names(build.find_wheel().library)
    assert {f"aclnn{entry[0]}" for entry in ENTRIES} <= set(names)
    assert len(names) > 900


def test_operator_without_kernel_fails_by_name(scenarios: dict[str, Any]) -> None:
    assert "aclnnErfinv has no kernel on the simulated NPU" in scenarios["operator_without_kernel"]


def test_operator_without_entry_fails_by_name(scenarios: dict[str, Any]) -> None:
    assert "aclnnCdist has no entry" in scenarios["operator_without_entry"]
    assert "it was called with: tensor tensor" in scenarios["operator_without_entry"]


def test_device_works_again_after_the_error_is_cleared(scenarios: dict[str, Any]) -> None:
    assert scenarios["launches_after_failure"] == [3, 3]


def test_collectives_of_a_world_of_one(scenarios: dict[str, Any]) -> None:
    assert scenarios["collectives"] is True


def test_each_replay_draws_other_random_numbers(scenarios: dict[str, Any]) -> None:
    assert scenarios["random_numbers_in_a_graph"] is True
