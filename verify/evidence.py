"""What a launch log says about a difference: the launches that nothing orders, and the lines between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from streamsched.dsl.check.registry import check
from streamsched.dsl.diagnostic import Diagnostic, Severity
from streamsched.npu_sim.log import Record
from streamsched.verify.launches import main_stream, program_of

FINDINGS = 3
"""How many findings are spelled out."""

LINES = 16
"""How many lines of the log are shown for one finding."""


def errors(records: Sequence[Record], streams: Mapping[int, str] | None = None) -> tuple[Diagnostic, ...]:
    """What the ordinary check finds wrong in a launch log, whose streams are called as `streams` says."""
    return tuple(found for found in check(program_of(records, streams=streams)) if found.severity is Severity.ERROR)


NO_RACE = (
    "launch log: not a race: nothing in its {count} lines is unordered. The generated forward computes otherwise "
    "than the original, with other ops or other arguments: so does a model that decides by the device"
)


def evidence(
    records: Sequence[Record], everything: bool = False, streams: Mapping[int, str] | None = None
) -> tuple[str, ...]:
    """The relevant part of a launch log, in lines for people; or all findings, and the whole log behind them.

    `streams` are the schedule's names of the device's streams.
    """
    if not records:
        return ()
    names = {main_stream(records): "default", **(streams or {})}
    found = errors(records, names)
    if not found:
        return (NO_RACE.format(count=len(records)), *(_whole(records, names) if everything else ()))
    lines: list[str] = []
    for diagnostic in found if everything else found[:FINDINGS]:
        lines.append(f"launch log: {diagnostic.message}")
        lines += _between(records, names, [related.span.line - 1 for related in diagnostic.related])
    if everything:
        lines += ["launch log, whole:", *_whole(records, names)]
    elif len(found) > FINDINGS:
        lines.append(f"launch log: ... and {len(found) - FINDINGS} more findings (--verbose shows them)")
    return tuple(lines)


def _whole(records: Sequence[Record], names: Mapping[int, str]) -> list[str]:
    return [f"    {record.order:>4}  {_describe(record, names)}" for record in records]


def _between(records: Sequence[Record], names: Mapping[int, str], orders: Sequence[int]) -> list[str]:
    """The lines from the first to the last of some numbers; those themselves are marked, and others left out first."""
    if not orders:
        return []
    inside = [record for record in records if min(orders) <= record.order <= max(orders) and record.stream is not None]
    left_out = len(inside) - LINES
    if left_out > 0:
        inside = [*inside[: LINES // 2], *inside[-LINES // 2 :]]
    lines = [
        f"  {'>' if record.order in orders else ' '} {record.order:>4}  {_describe(record, names)}" for record in inside
    ]
    if left_out > 0:
        lines.insert(LINES // 2, f"    ...   {left_out} lines")
    return lines


def _describe(record: Record, names: Mapping[int, str]) -> str:
    """One line: `shared Mm#2 reads 0x7f00 0x7f80, writes 0x8000`."""
    said = record.describe()
    if record.stream is not None and record.stream in names:
        said = said.replace(f"s{record.stream} ", f"{names[record.stream]} ", 1)
    number = "" if record.node is None else f"#{record.node}"
    used = [
        f"{verb} {' '.join(addresses)}"
        for verb, addresses in (
            ("reads", [f"{operand.address:#x}" for operand in record.operands if operand.reads]),
            ("writes", [f"{operand.address:#x}" for operand in record.operands if operand.writes]),
        )
        if addresses
    ]
    return f"{said}{number} {', '.join(used)}".rstrip()
