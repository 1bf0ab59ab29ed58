"""Every rule that reads a program, and the check that runs them all."""

from __future__ import annotations

from streamsched.dsl.check import capture, collectives, gains, memory, ordering, resources, target
from streamsched.dsl.check.facts import Facts
from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.program.steps import Program

RULES = (
    *ordering.RULES,
    *collectives.RULES,
    *memory.RULES,
    *capture.RULES,
    *resources.RULES,
    *gains.RULES,
    *target.RULES,
)


def check(program: Program) -> tuple[Diagnostic, ...]:
    """What is wrong with `program`, in the order of the text, then of the codes; each finding once."""
    facts = Facts(program)
    found = dict.fromkeys(diagnostic for rule in RULES for diagnostic in rule(facts))
    return tuple(sorted(found, key=lambda diagnostic: (diagnostic.span, diagnostic.code)))
