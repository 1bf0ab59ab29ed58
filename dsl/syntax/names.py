"""The checks of a schedule on its own, without a trace."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.syntax.rules import NAME_RULES
from streamsched.dsl.syntax.tree import Schedule
from streamsched.dsl.syntax.usage import collect

FINDING_LIMIT = 50
"""How many findings of one rule are reported."""


def check_names(schedule: Schedule, torn: frozenset[str] | None = None) -> tuple[Diagnostic, ...]:
    """What is wrong with the names and statements of `schedule`, rule by rule.

    `torn` are the words of the statements that did not parse, None if all did: a name among them may well be declared
    or used there, so nothing is said about it being undefined or unused.
    """
    names = collect(schedule, torn)
    return tuple(finding for rule in NAME_RULES for finding in _first(rule(names)))


def _first(findings: Iterator[Diagnostic]) -> list[Diagnostic]:
    """The first `FINDING_LIMIT` findings. The last of them says so where there are more."""
    first = list(islice(findings, FINDING_LIMIT))
    if next(findings, None) is not None:
        note = f"more findings of this rule follow: only the first {FINDING_LIMIT} are shown"
        first[-1] = replace(first[-1], notes=(*first[-1].notes, note))
    return first
