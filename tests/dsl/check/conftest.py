"""What the check finds in programs that are written as text; see `program_text`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from program_text import build_program

from streamsched.dsl.check.registry import check
from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.program.steps import Program

Build = Callable[..., Program]


@pytest.fixture(scope="session")
def build() -> Build:
    return build_program


@pytest.fixture(scope="session")
def findings(build: Build) -> Callable[..., list[Diagnostic]]:
    """What the check finds in a program written as text: all of it, or what has the given code."""

    def find(text: str, code: str = "", **options: object) -> list[Diagnostic]:
        return [d for d in check(build(text, **options)) if not code or d.code == code]

    return find


FORK_JOIN = """
    entry x w
    default add: x -> a
    record ready default
    wait ready side
    side mm: a w -> y  @side
    record done side
    wait done default
    default mul: y -> z
    exit z
"""


@pytest.fixture(scope="session")
def hazards(findings: Callable[..., list[Diagnostic]]) -> Callable[..., list[Diagnostic]]:
    """What family TGT finds under npugraph_ex in a program, by default one fork and join.

    `via` maps lines of the text to the `via` of their steps.
    """

    def find(text: str = FORK_JOIN, via: Mapping[str, str] = {}, **options: object) -> list[Diagnostic]:
        for line, spelling in via.items():
            assert text.count(f"{line}\n") == 1, line
            text = text.replace(f"{line}\n", f"{line} via {spelling}\n")
        return [d for d in findings(text, **{"target": "npugraph_ex", **options}) if d.code.startswith("TGT")]

    return find
