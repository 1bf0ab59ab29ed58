"""TGT: views of inputs that an npugraph_ex graph returns."""

from __future__ import annotations

import pytest
from plans import program_of
from traces import TraceBuilder

from streamsched.dsl.check.registry import check
from streamsched.dsl.diagnostic import Diagnostic, Severity
from streamsched.dsl.trace.model import StorageKind, Trace

SCHEDULE = 'stream side\nnode "made" on side\n'


def returning(*outputs: str, write: bool = False, kind: StorageKind = StorageKind.INPUT) -> Trace:
    """A model with a result, views of it and of its input, and what may be one; `write`: it writes its input, too."""
    builder = TraceBuilder()
    builder.input("x", kind=kind)
    builder.kernel("made", "x")
    builder.view("flat", "x")
    builder.view("row", "flat")
    builder.kernel("either", "x", copies="x")
    builder.view("part", "made")
    if write:
        builder.kernel("written", "made", inplace="x")
    return builder.build(*outputs)


def found(trace: Trace, target: str = "npugraph_ex") -> list[Diagnostic]:
    program = program_of(f"sync auto\n{SCHEDULE}", trace, target)
    return [diagnostic for diagnostic in check(program) if diagnostic.code == "TGT121"]


def test_a_view_of_an_input() -> None:
    [warning] = found(returning("made", "flat"))
    assert warning.severity is Severity.WARNING
    assert warning.message == "forward() returns `flat`, in the memory of the graph input `x`"
    assert warning.notes == ("each later call writes its own `x` into the one that the first call was given",)
    assert warning.help == "return a copy: `.clone()`"


def test_one_finding_for_each_input() -> None:
    [warning] = found(returning("flat", "made", "row"))
    assert warning.message.startswith("forward() returns `flat` and `row`, in the memory of")


def test_what_may_be_a_view() -> None:
    [warning] = found(returning("made", "either"))
    assert warning.message == "forward() returns `either`, perhaps in the memory of the graph input `x`"


@pytest.mark.parametrize("outputs", [("made",), ("made", "x"), ("part",)], ids="-".join)
def test_results_and_whole_inputs_are_safe(outputs: tuple[str, ...]) -> None:
    assert found(returning(*outputs)) == []


def test_a_view_of_an_input_that_is_written_is_safe() -> None:
    assert found(returning("made", "flat", write=True)) == []


def test_a_view_of_a_parameter_is_safe() -> None:
    assert found(returning("made", "flat", kind=StorageKind.PARAMETER)) == []


@pytest.mark.parametrize("target", ["npu", "cuda", "cpu"])
def test_other_targets_capture_nothing(target: str) -> None:
    assert found(returning("made", "flat"), target) == []
