"""The rows of `show`'s table: what each stream does, in issue order, long stretches in few words."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from streamsched.dsl.program import via
from streamsched.dsl.program.steps import Program, Step, StepKind
from streamsched.dsl.trace.model import NONE, Ref, Trace

SMALL = 24
"""Up to so many kernels and allocations, each has a row of its own."""

_WIDEST_STRETCH = 12
"""Rows of one stretch of a large program, before all of it becomes one row."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row: `text` in the column of `stream`. `count` is how many kernels and allocations it stands for."""

    stream: int
    text: str
    count: int = 0


def rows(program: Program) -> tuple[Row, ...]:
    """The program as rows."""
    large = sum(step.op != NONE for step in program.steps) > SMALL
    found: list[Row] = []
    hidden = (StepKind.FREE, StepKind.RECORD_STREAM)
    shown = (step for step in program.steps if step.kind not in hidden and not via.is_implicit(step))
    for (kind, stream), steps in groupby(shown, _stretch):
        stretch = list(steps)
        if kind is StepKind.LAUNCH:
            found += _summary(program, stretch) if large else [_single(program, step) for step in stretch]
        else:
            found += [Row(stream, _sign(step)) for step in stretch]
    return tuple(found)


def op_label(step: Step, trace: Trace | None) -> str:
    """An op as a row shows it: `mm_result = mm`."""
    if trace is None or step.op == NONE:
        return step.name
    op = trace.ops[step.op]
    operator = op.target.split(".")[1]
    if not isinstance(op.result, Ref):
        return f"{op.name}: {operator}"
    value = trace.values[op.result.value]
    name = value.local or value.inner or value.name
    return f"{name} = {operator}" if value.same_object == NONE else f"{name}: {operator}"


def _stretch(step: Step) -> tuple[StepKind, int]:
    """What consecutive steps have in common."""
    return StepKind.LAUNCH if step.kind is StepKind.ALLOC else step.kind, step.stream


def _sign(step: Step) -> str:
    match step.kind:
        case StepKind.RECORD:
            return f"{step.name} ->"
        case StepKind.WAIT:
            return f"-> {step.name}"
        case StepKind.HOST_SYNC:
            return "host waits"
    return f"({step.name})"


def _single(program: Program, step: Step) -> Row:
    groups = _groups(program, step)
    label = op_label(step, program.trace)
    return Row(step.stream, f"{label}  [{groups}]" if groups else label, 1)


def _groups(program: Program, step: Step) -> str:
    return ", ".join(program.groups[group].name for group in step.groups)


def _summary(program: Program, stretch: list[Step]) -> list[Row]:
    """A stretch of one stream, one row for each module call, group or run of loose ops in it."""
    best = [_run(program, stretch, NONE)]
    for depth in range(len(_chain(program, stretch[0])) + 2):
        runs = _runs_at(program, stretch, depth)
        if len(runs) > _WIDEST_STRETCH:
            break
        best = runs
        if len(runs) > 1:
            break
    return best


def _runs_at(program: Program, stretch: list[Step], depth: int) -> list[Row]:
    """One row for each stretch of one call, `depth` calls below the scope's own, and one set of groups."""

    def key(step: Step) -> tuple[int, tuple[int, ...]]:
        chain = _chain(program, step)
        return chain[depth] if depth < len(chain) else NONE, step.groups

    return [_run(program, list(steps), call) for (call, _), steps in groupby(stretch, key)]


def _run(program: Program, steps: list[Step], call: int) -> Row:
    """Consecutive ops as one row."""
    if len(steps) == 1:
        return _single(program, steps[0])
    trace = program.trace
    if trace is not None and call != NONE:
        text = trace.calls[call].label
    else:
        text = f"{op_label(steps[0], trace)} .. {op_label(steps[-1], trace)}"
    groups = _groups(program, steps[0]) if len({step.groups for step in steps}) == 1 else ""
    return Row(steps[0].stream, f"{text} ({len(steps)} ops){f'  [{groups}]' if groups else ''}", len(steps))


def _chain(program: Program, step: Step) -> list[int]:
    """The module calls around an op, outermost first, the scope's own left out."""
    chain: list[int] = []
    trace = program.trace
    call = trace.ops[step.op].call if trace is not None and step.op != NONE else NONE
    while trace is not None and call > 0:
        chain.append(call)
        call = trace.calls[call].parent
    return chain[::-1]
