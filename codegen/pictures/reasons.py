"""Why each sync of a program is there, and what protects each lifetime, in words."""

from __future__ import annotations

from streamsched.codegen.pictures.rows import op_label
from streamsched.dsl.program import via
from streamsched.dsl.program.clocks import Clocks, clocks
from streamsched.dsl.program.steps import DEFAULT, Hazard, Order, OrderKind, Program, Reason, Step, StepKind
from streamsched.dsl.trace.model import NONE, StorageKind

_KEPT = {
    StorageKind.INPUT: "an input: lives until exit",
    StorageKind.PARAMETER: "a parameter: never freed",
    StorageKind.BUFFER: "a buffer: never freed",
    StorageKind.CONSTANT: "a constant: never freed",
}
_HAZARDS = {
    Hazard.RAW: "{after} reads what {before} wrote",
    Hazard.WAR: "{after} overwrites what {before} read",
    Hazard.WAW: "{after} overwrites what {before} wrote",
}
_MOST = 3
"""How many names a line lists."""


def sync_reasons(program: Program) -> list[str]:
    """A paragraph for each wait: who waits for whom, and for what."""
    recorded = {step.event: step.stream for step in program.steps if step.kind is StepKind.RECORD}
    lines: list[str] = []
    for step in program.steps:
        if step.kind is StepKind.WAIT and not via.is_implicit(step):
            other = recorded.get(step.event)
            source = program.streams[other].name if other is not None else "a stream that never records it"
            lines.append(f"{step.name}: {program.streams[step.stream].name} waits for {source}")
            said = dict.fromkeys(_reason(program, reason) for reason in step.reasons)
            lines += [f"  {text}" for text in said] or ["  no reason is known"]
    return lines


def collectives(program: Program) -> list[str]:
    """A line for each collective: where it is issued, and where a stream waits for it."""
    ends = {step.event: step.name for step in program.steps if step.kind is StepKind.RECORD and via.is_implicit(step)}
    waits = [(index, step) for index, step in enumerate(program.steps) if step.kind is StepKind.WAIT]
    lines: list[str] = []
    for index, step in enumerate(program.steps):
        if step.issued_on == NONE:
            continue
        end = program.steps[index + 1].event if index + 1 < len(program.steps) else NONE
        awaited = [program.streams[wait.stream].name for place, wait in waits if wait.event == end and place > index]
        told = f"awaited on {', '.join(awaited)}" if end in ends and awaited else "awaited nowhere"
        where = f"on {program.streams[step.stream].name}, issued on {program.streams[step.issued_on].name}"
        lines.append(f"{step.name}: {where}, {told}")
    return lines


def lifetime_reasons(program: Program) -> list[str]:
    """A line for each storage that a stream other than its home uses, and what keeps its block from early reuse."""
    clock = clocks(program)
    last: dict[int, dict[int, int]] = {}
    frees: dict[int, int] = {}
    marked: dict[int, list[str]] = {}
    for index, step in enumerate(program.steps):
        if step.op != NONE:
            for storage in (*step.reads, *step.writes):
                last.setdefault(storage, {})[step.stream] = index
        elif step.kind is StepKind.FREE:
            frees[step.storage] = index
        elif step.kind is StepKind.RECORD_STREAM:
            marked.setdefault(step.storage, []).append(program.streams[step.stream].name)
    lines: list[str] = []
    for storage in sorted(last):
        about = program.storages[storage]
        foreign = {stream: use for stream, use in last[storage].items() if stream != about.home}
        if (about.kind is StorageKind.OP or storage in frees) and (foreign or storage in marked):
            users = ", ".join(program.streams[stream].name for stream in sorted(foreign)) or "the caller"
            reason = _protection(program, clock, frees.get(storage, NONE), foreign, marked.get(storage, []))
            lines.append(f"{about.name}: home {program.streams[about.home].name}, used by {users}; {reason}")
        elif foreign and about.kind in _KEPT and about.kind is not StorageKind.PARAMETER:
            users = ", ".join(program.streams[stream].name for stream in sorted(foreign))
            lines.append(f"{about.name}: used by {users}; {_KEPT[about.kind]}")
    return lines


def _reason(program: Program, reason: Reason) -> str:
    before, after = program.steps[reason.before], program.steps[reason.after]
    if reason.hazard is not None and program.storages[reason.storage].kind is StorageKind.PROCESS_GROUP:
        told = f"{_place(program, after)} must not begin beside {_place(program, before)} on any rank"
        return f"collectives: {told}"
    if reason.hazard is not None:
        told = _HAZARDS[reason.hazard].format(before=_place(program, before), after=_place(program, after))
        return f"{reason.hazard.value} on {program.storages[reason.storage].name}: {told}"
    order = program.required[reason.order]
    if order.kind is OrderKind.ENTRY:
        return f"entry: the inputs must be there before {program.streams[after.stream].name} begins"
    if order.kind is OrderKind.EXIT:
        return f"exit: forward() must not end before {program.streams[before.stream].name} does"
    where = f" ({order.span})" if order.span is not None else ""
    return f"edge {order.label}{where}: {_carried(program, order)}"


def _carried(program: Program, order: Order) -> str:
    """The data that an edge carries."""
    before, after = ([program.steps[i] for i in steps] for steps in (order.before, order.after))
    written = {storage for step in before for storage in step.writes}
    touched = {storage for step in after for storage in (*step.reads, *step.writes)}
    read = {storage for step in before for storage in step.reads}
    carried = sorted(written & touched | read & {storage for step in after for storage in step.writes})
    names = list(dict.fromkeys(program.storages[storage].name for storage in carried))
    if len(names) > _MOST:
        names = [*names[:_MOST], f"{len(names) - _MOST} more"]
    return f"they share {', '.join(names)}" if names else "order only, they share no data"


def _place(program: Program, step: Step) -> str:
    if step.kind in (StepKind.ENTRY, StepKind.EXIT):
        return step.name
    name = op_label(step, program.trace).split(" ")[0].rstrip(":")
    return f"{name} ({step.source.file}:{step.source.line})" if step.source is not None else name


def _protection(program: Program, clock: Clocks, free: int, foreign: dict[int, int], marked: list[str]) -> str:
    """What keeps the block: the record_streams, and the waits that prove the other uses done."""
    parts = [f"record_stream on {', '.join(marked)}"] if marked else []
    open_uses = [use for stream, use in foreign.items() if program.streams[stream].name not in marked]
    if free == NONE:
        parts += [] if marked else ["returned"]
    elif open_uses:
        parts.append(_proof(program, clock, free, open_uses))
    return ", ".join(parts)


def _proof(program: Program, clock: Clocks, free: int, uses: list[int]) -> str:
    """The waits by which the home stream knows that `uses` are done before it reuses the block."""
    home = program.streams[program.steps[free].stream].name
    proofs = [_seen_by(program, clock, free, use) for use in sorted(uses)]
    if any(proof is None for proof in proofs):
        return "NOT SAFE"
    waits = list(dict.fromkeys(proof.name for proof in proofs if proof is not None and proof.kind is StepKind.WAIT))
    if not waits:
        return f"safe: {home} reuses it in the next call, behind exit"
    return f"safe: {home} waits for {', '.join(waits)} before it reuses it"


def _seen_by(program: Program, clock: Clocks, free: int, use: int) -> Step | None:
    """The wait on the home stream that `use` precedes; exit if nothing is issued there after the free; else None."""
    home = program.steps[free].stream
    for index in range(use + 1, len(program.steps)):
        step = program.steps[index]
        if step.stream == home and clock.before(use, index):
            return step if step.kind is StepKind.WAIT else None
        if step.stream == home and index > free and step.op != NONE:
            return None
    return program.steps[-1]


def limits(program: Program) -> list[str]:
    """The options of the streams that have some."""
    lines: list[str] = []
    for index, stream in enumerate(program.streams):
        options = [
            f"{word} {number}"
            for word, number in (("priority", stream.priority), ("aic", stream.aic), ("aiv", stream.aiv))
            if number is not None
        ]
        if options and (index == DEFAULT or any(step.stream == index for step in program.steps)):
            lines.append(f"{stream.name}: {', '.join(options)}")
    return lines
