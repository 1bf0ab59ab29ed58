"""A program as text: a table with the streams side by side, then why each sync is there and what protects lifetimes."""

from __future__ import annotations

from streamsched.codegen.pictures.reasons import collectives, lifetime_reasons, limits, sync_reasons
from streamsched.codegen.pictures.rows import Row, rows
from streamsched.dsl.program import via
from streamsched.dsl.program.steps import DEFAULT, Program, StepKind
from streamsched.dsl.trace.model import NONE

_WIDEST_COLUMN = 48


def show(program: Program) -> str:
    """The program as plain text, ending with a newline. The same program gives the same text."""
    table = rows(program)
    sections = [
        [_title(program)],
        _table(program, table),
        ["event ->  records it;  -> event  waits for it;  rows are in issue order"],
        _section("streams", limits(program)),
        _section("syncs: why", sync_reasons(program)),
        _section("collectives", collectives(program)),
        _section("lifetimes across streams", lifetime_reasons(program)),
    ]
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def _title(program: Program) -> str:
    explicit = [step for step in program.steps if not via.is_implicit(step)]
    counts = {kind: sum(step.kind is kind for step in explicit) for kind in StepKind}
    used = {step.stream for step in program.steps if step.op != NONE} | {DEFAULT}
    parts = [
        _count(len(used), "stream"),
        _count(counts[StepKind.LAUNCH], "kernel"),
        _count(counts[StepKind.RECORD], "event"),
        _count(counts[StepKind.WAIT], "wait"),
    ]
    return f"{program.name} for {program.target}: {', '.join(parts)}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _section(title: str, lines: list[str]) -> list[str]:
    return [title, *(f"  {line}" for line in lines)] if lines else []


def _table(program: Program, table: tuple[Row, ...]) -> list[str]:
    """One column for each stream in use; a row's number counts kernels and allocations."""
    streams = sorted({row.stream for row in table} | {DEFAULT})
    names = {stream: program.streams[stream].name for stream in streams}
    widths = {
        stream: max(len(names[stream]), *(len(_cell(row)) for row in table if row.stream == stream), 0)
        for stream in streams
    }
    total = str(sum(row.count for row in table))
    edge = max(len(total), 1)
    lines = [
        " " * edge + "  " + "  ".join(names[stream].ljust(widths[stream]) for stream in streams),
        "-" * edge + "  " + "  ".join("-" * widths[stream] for stream in streams),
    ]
    number = 1
    for row in table:
        cells = (_cell(row).ljust(widths[s]) if s == row.stream else " " * widths[s] for s in streams)
        lines.append(f"{number if row.count else '':>{edge}}  {'  '.join(cells)}")
        number += row.count
    return [line.rstrip() for line in lines]


def _cell(row: Row) -> str:
    return row.text if len(row.text) <= _WIDEST_COLUMN else f"{row.text[: _WIDEST_COLUMN - 3].rstrip()}..."
