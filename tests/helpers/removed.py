"""Generated forwards with one sync taken out, audited against their schedule: what is lost, and what is told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from drafts import words, write_generated
from syncs import ORDER_ONLY, Sync, codes, program_without, syncs, text_without, with_inserted
from tiny import SCOPED, loaded

from streamsched.codegen.forward.folding import fold
from streamsched.dsl.audit import Audited, audit
from streamsched.dsl.diagnostic import Severity
from streamsched.dsl.program.steps import Program, StepKind
from streamsched.dsl.syntax.formatter import format_schedule
from streamsched.dsl.trace.model import NONE, StorageKind
from streamsched.dsl.trace.store import save

NPUGRAPH_EX = "npugraph_ex"

UNUSED = {"ORD102", "ORD106"}
"""What is told of a wait whose record is gone, and of a record whose wait is."""

AGAINST = "AUD3"
"""The family of what only a schedule can tell."""


@dataclass(frozen=True)
class Removal:
    """A line taken out: the codes that the plan has for it, and those that audit tells, remarks left out."""

    example: str
    target: str
    line: str
    lost: tuple[str, ...]
    told: tuple[str, ...]
    kept: bool  # memory of an input, which this caller does not free, or of a printed call's argument until it returns

    @property
    def wrong(self) -> str:
        """What is not as it must be; empty where all is."""
        lost, told = set(self.lost) - ORDER_ONLY, {code for code in self.told if not code.startswith(AGAINST)}
        hazards = told - UNUSED
        if self.kept:
            return "" if hazards <= lost else "more is told than is lost"
        if not lost:
            found = [code for code in self.told if code.startswith(AGAINST)]
            edges = ["AUD301"] if ORDER_ONLY & set(self.lost) else []
            return "" if not hazards and sorted(set(found)) == edges else "only the edge is lost"
        if not hazards:
            return "nothing tells that it is gone"
        lifetimes = all(code.startswith("MEM") for code in lost)
        return "" if not lifetimes or hazards & lost else "another hazard is told"


def prepare(name: str, target: str, folder: Path) -> tuple[str, Program]:
    """An example's generated forward in `folder`, with its schedule and trace as `plan.sched`; its text and program."""
    text = write_generated(name, target, folder)
    found = loaded(name, target)
    assert found.program is not None and found.trace is not None
    (folder / "plan.sched").write_text(f"{format_schedule(found.schedule)}target {target}\n")
    save(found.trace, str(folder / "plan.trace.json.gz"))
    return text, found.program


def audited(name: str, target: str) -> Audited:
    """The audit of `build.py` in the current folder against `plan.sched`."""
    said = words(name)
    inputs = tuple(filter(None, said["input"].splitlines()))
    world = 4 if name == "tp_moe" else 0
    found = audit(
        "build.py:build",
        inputs,
        said["inputs from"],
        target=target,
        world=world,
        fakes=said["fakes"],
        fake=bool(said["fakes"]),  # what stands in for ops has no values
        against="plan.sched",
        in_process=True,
    )
    assert found.program is not None, found.diagnostics
    return found


def told(found: Audited) -> tuple[str, ...]:
    return tuple(each.code for each in found.diagnostics if each.severity is not Severity.INFO)


def removals(
    name: str, target: str, text: str, program: Program, which: Sequence[int] | None = None
) -> Iterator[Removal]:
    """Each sync of the generated file in the current folder taken out, or those that `which` counts."""
    found = syncs(text, program)
    assert found
    for sync in found if which is None else [found[index] for index in which]:
        thinned = program_without(program, sync)
        forks = target == NPUGRAPH_EX and name not in SCOPED  # a module in scope lies in the middle of its graph
        lost = codes(with_inserted(thinned) if forks else thinned)
        Path("generated.py").write_text(text_without(text, sync))
        kept = _is_of_input(program, sync) or (target != NPUGRAPH_EX and not codes(_arguments_held(thinned)))
        yield Removal(name, target, sync.text, tuple(sorted(lost)), told(audited(name, target)), kept)
    Path("generated.py").write_text(text)


def _arguments_held(program: Program) -> Program:
    """The program as Python runs it: what a printed call is given lives until the call returns."""
    assert program.trace is not None
    call_of = fold(program, program.trace).call_of
    calls = [NONE if step.op == NONE else call_of[step.op] for step in program.steps]
    end = {call: place for place, call in enumerate(calls) if call != NONE}
    made: dict[int, int] = {}
    used: dict[int, int] = {}
    ends: list[int] = []
    for place, step in enumerate(program.steps):
        for storage in step.reads + step.writes if step.runs else ():
            made.setdefault(storage, calls[place])
            used[storage] = calls[place]
        call = used.get(step.storage, NONE) if step.kind is StepKind.FREE else NONE
        ends.append(place if call in (NONE, made.get(step.storage)) else max(place, end[call]))
    order = sorted(range(len(ends)), key=lambda place: (ends[place], place != ends[place]))
    moved = {old: new for new, old in enumerate(order)}
    required = tuple(
        replace(each, before=tuple(moved[i] for i in each.before), after=tuple(moved[i] for i in each.after))
        for each in program.required
    )
    return replace(program, steps=tuple(replace(program.steps[i], reasons=()) for i in order), required=required)


def _is_of_input(program: Program, sync: Sync) -> bool:
    step = program.steps[sync.step]
    return step.kind is StepKind.RECORD_STREAM and program.storages[step.storage].kind is StorageKind.INPUT
