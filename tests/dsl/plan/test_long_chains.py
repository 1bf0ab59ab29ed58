"""Groups that are made of groups: as many after each other as anybody writes."""

from __future__ import annotations

from plans import program_of
from traces import TraceBuilder

from streamsched.dsl.program.steps import StepKind
from streamsched.dsl.trace.model import Trace

LENGTH = 5000


def two_kernels() -> Trace:
    t = TraceBuilder()
    t.input("x")
    t.kernel("first", "x")
    t.kernel("second", "first")
    return t.build("second")


def test_a_chain_is_selected_however_long() -> None:
    chain = "".join(f"group g{n} = g{n + 1}\n" for n in range(LENGTH))
    program = program_of(f'stream s\n{chain}group g{LENGTH} = value "first"\ng0 on s\n', two_kernels())
    assert [s.name for s in program.steps if s.kind is StepKind.LAUNCH and s.stream == 1] == ["first"]


def test_a_chain_may_begin_at_its_end() -> None:
    chain = "".join(f"group g{n + 1} = g{n} | g{n // 2}\n" for n in range(LENGTH))
    program = program_of(f'stream s\ngroup g0 = value "first"\n{chain}g{LENGTH} on s\n', two_kernels())
    assert [s.name for s in program.steps if s.kind is StepKind.LAUNCH and s.stream == 1] == ["first"]
