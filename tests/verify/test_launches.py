"""A launch log read back as a program, and what is shown of it where outputs differ."""

from __future__ import annotations

from streamsched.dsl.check.registry import check
from streamsched.dsl.program.edit import without
from streamsched.dsl.program.steps import StepKind
from streamsched.npu_sim.log import Operand, Record
from streamsched.verify.evidence import errors, evidence
from streamsched.verify.launches import captured, program_of


def launch(order: int, stream: int, operator: str, reads: tuple[int, int], writes: tuple[int, int]) -> Record:
    """A launch that reads and writes ranges of bytes, each given by address and size."""
    operands = (Operand("self", "in", *reads), Operand("out", "out", *writes))
    return Record(order, "launch", stream, node=order, operator=f"aclnn{operator}", operands=operands)


def sync(order: int, call: str, stream: int, event: int) -> Record:
    return Record(order, call, stream, event)


FORKED = (
    launch(0, 1, "Add", (0, 8), (100, 8)),
    sync(1, "record", 1, 7),
    sync(2, "wait", 3, 7),
    launch(3, 3, "Mm", (100, 8), (200, 8)),
    sync(4, "record", 3, 8),
    sync(5, "wait", 1, 8),
)


def test_a_log_that_is_ordered_has_no_errors() -> None:
    program = program_of(FORKED)
    assert [stream.name for stream in program.streams] == ["default", "s3"]
    assert errors(FORKED) == () and "not a race: nothing in its 6 lines" in evidence(FORKED)[0]
    for index, step in enumerate(program.steps):
        if step.kind is StepKind.WAIT:
            assert check(without(program, index)), step


def test_a_launch_that_does_not_wait_is_shown_with_the_lines_between() -> None:
    thinned = (FORKED[0], FORKED[1], *FORKED[3:])
    assert {found.code for found in errors(thinned)} >= {"ORD101"}
    text = "\n".join(evidence(thinned))
    assert "nothing orders them (RAW)" in text
    assert ">    0  default Add#0 reads 0x0, writes 0x64" in text
    assert ">    3  s3 Mm#3 reads 0x64, writes 0xc8" in text
    assert "     1  default record e7" in text
    text = "\n".join(evidence(thinned, streams={3: "shared"}))
    assert "`Mm#3` on `shared` reads" in text
    assert ">    3  shared Mm#3 reads 0x64, writes 0xc8" in text


def test_memory_used_again_before_its_reader_is_done_is_a_race() -> None:
    reused = (*FORKED[:4], launch(4, 1, "Relu", (0, 8), (96, 8)), *FORKED[4:])  # half of what Mm reads
    (found,) = errors(reused)
    assert (found.code, "WAR" in found.message) == ("ORD101", True)
    beside = (*FORKED[:4], launch(4, 1, "Relu", (0, 8), (108, 8)), *FORKED[4:])
    assert errors(beside) == ()


def test_a_synchronous_copy_is_done_when_the_host_goes_on() -> None:
    given = (Operand("source", "in", 900, 8), Operand("target", "out", 0, 8))
    copy = Record(9, "copy", kind="host to device", operands=given)
    program = program_of((copy, *FORKED))
    assert [stream.name for stream in program.streams] == ["default", "the host's", "s3"]
    assert errors((copy, *FORKED)) == ()
    late = (*FORKED[:4], copy, *FORKED[4:])  # over what Add may still read
    assert {found.code for found in errors(late)} == {"ORD101"}


def test_only_the_last_graph_counts_as_captured() -> None:
    def of(graph: int) -> list[Record]:
        return [Record(10 * graph, "capture_begin", 7, graph=graph), Record(10 * graph + 1, "record", 7, 1, graph)]

    log = [*of(1), *of(2), launch(30, 1, "Add", (0, 8), (8, 8)), Record(31, "replay", 1, graph=2)]
    assert [record.order for record in captured(log)] == [20, 21]
    assert captured(FORKED) == ()
