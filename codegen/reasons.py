"""Why each sync of a program is there, and what protects each lifetime, in words."""

from __future__ import annotations

from streamsched.codegen.rows import op_label
from streamsched.dsl.program.clocks import Clocks, clocks
from streamsched.dsl.program.steps import DEFAULT, Hazard, OrderKind, Program, Reason, Step, StepKind
from streamsched.dsl.trace.model import NONE, StorageKind

_KEPT = {
    StorageKind.INPUT: "an input: lives until exit",
    StorageKind.PARAMETER: "a parameter: never freed",
    StorageKind.BUFFER: "a buffer: never freed",
    StorageKind.CONSTANT: "a constant: never freed",
}
_HAZARDS = {
    Hazard.RAW: "reads what was written",
    Hazard.WAR: "overwrites what was read",
    Hazard.WAW: "overwrites what was written",
}


def sync_reasons(program: Program) -> list[str]:
    """A paragraph for each wait: who waits for whom, and for what."""
    recorded = {step.event: step.stream for step in program.steps if step.kind is StepKind.RECORD}
    lines: list[str] = []
    for step in program.steps:
        if step.kind is StepKind.WAIT:
            other = recorded.get(step.event)
            source = program.streams[other].name if other is not None else "a stream that never records it"
            lines.append(f"{step.name}: {program.streams[step.stream].name} waits for {source}")
            said = dict.fromkeys(_reason(program, reason) for reason in step.reasons)
            lines += [f"  {text}" for text in said] or ["  no reason is known"]
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
        if about.kind is StorageKind.OP and (foreign or storage in marked):
            users = ", ".join(program.streams[stream].name for stream in sorted(foreign)) or "the caller"
            reason = _protection(program, clock, frees.get(storage, NONE), foreign, marked.get(storage, []))
            lines.append(f"{about.name}: home {program.streams[about.home].name}, used by {users}; {reason}")
        elif foreign and about.kind in _KEPT and about.kind is not StorageKind.PARAMETER:
            users = ", ".join(program.streams[stream].name for stream in sorted(foreign))
            lines.append(f"{about.name}: used by {users}; {_KEPT[about.kind]}")
    return lines


def _reason(program: Program, reason: Reason) -> str:
    before, after = program.steps[reason.before], program.steps[reason.after]
    if reason.hazard is not None:
        steps = f"{_place(program, before)} -> {_place(program, after)}"
        name = program.storages[reason.storage].name
        return f"{reason.hazard.value} on {name}: {steps} {_HAZARDS[reason.hazard]}"
    order = program.required[reason.order]
    if order.kind is OrderKind.ENTRY:
        return f"entry: the inputs must be there before {program.streams[after.stream].name} begins"
    if order.kind is OrderKind.EXIT:
        return f"exit: forward() must not end before {program.streams[before.stream].name} does"
    where = f" ({order.span})" if order.span is not None else ""
    return f"edge {order.label}{where}"


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
    """The wait by which the home stream knows that `uses` are done before it reuses the block."""
    home = program.steps[free].stream
    waits: list[str] = []
    for use in sorted(uses):
        for index, step in enumerate(program.steps):
            if step.stream == home and index > use and clock.before(use, index):
                waits.append(step.name)
                break
            if step.stream == home and index > free and step.op != NONE:
                return "NOT SAFE"
        else:
            return f"safe: {program.streams[home].name} reuses it in the next call, behind exit"
    return f"safe: {program.streams[home].name} waits for {', '.join(dict.fromkeys(waits))} before it reuses it"


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
