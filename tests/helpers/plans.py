"""Plan a schedule's text over a hand-built trace, and read the program in one line."""

from __future__ import annotations

from streamsched.dsl.plan.planner import Plan, plan
from streamsched.dsl.program.steps import Program, Step, StepKind
from streamsched.dsl.syntax.parser import parse
from streamsched.dsl.trace.model import Trace

HEAD = 'schedule test\nmodel "model.py:Model"\n'


def plan_text(text: str, trace: Trace, target: str | None = None) -> Plan:
    """The plan of `text` (without its first two lines), which must be free of syntax errors."""
    parsed = parse(HEAD + text, "test.sched")
    assert not [d for d in parsed.diagnostics if d.severity.value == "error"], parsed.diagnostics
    return plan(parsed.schedule, trace, "", target)


def program_of(text: str, trace: Trace, target: str | None = None) -> Program:
    """The program of `text`, which must plan without an error."""
    planned = plan_text(text, trace, target)
    assert planned.program is not None, planned.diagnostics
    return planned.program


def spell(program: Program, *kinds: StepKind) -> list[str]:
    """The steps, one short text each: `s1 a`, `s1 wait a_done`, `default free x`. `kinds` leaves out the others."""
    return [_spell(program, step) for step in program.steps if not kinds or step.kind in kinds]


def _spell(program: Program, step: Step) -> str:
    stream = program.streams[step.stream].name
    verb = "" if step.kind is StepKind.LAUNCH else step.kind.value
    name = "" if step.kind in (StepKind.ENTRY, StepKind.EXIT) else step.name
    return " ".join(filter(None, (stream, verb, name)))
