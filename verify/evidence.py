"""What a launch log says about a difference: the launches that nothing orders, and the lines between them."""

from __future__ import annotations

from collections.abc import Sequence

from streamsched.dsl.check.registry import check
from streamsched.dsl.diagnostic import Diagnostic, Severity
from streamsched.npu_sim.log import Record
from streamsched.verify.launches import program_of

FINDINGS = 3
"""How many findings are spelled out."""

LINES = 16
"""How many lines of the log are shown for one finding."""


def errors(records: Sequence[Record]) -> tuple[Diagnostic, ...]:
    """What the ordinary check finds wrong in a launch log."""
    return tuple(found for found in check(program_of(records)) if found.severity is Severity.ERROR)


def evidence(records: Sequence[Record], everything: bool = False) -> tuple[str, ...]:
    """The relevant part of a launch log, in lines for people; or all findings, and the whole log behind them."""
    if not records:
        return ()
    found = errors(records)
    if not found:
        nothing = f"launch log: nothing in it is unordered ({len(records)} lines)"
        return (nothing, *(_whole(records) if everything else ()))
    lines: list[str] = []
    for diagnostic in found if everything else found[:FINDINGS]:
        lines.append(f"launch log: {diagnostic.message}")
        lines += _between(records, [related.span.line - 1 for related in diagnostic.related])
    if everything:
        lines += ["launch log, whole:", *_whole(records)]
    elif len(found) > FINDINGS:
        lines.append(f"launch log: ... and {len(found) - FINDINGS} more findings (--verbose shows them)")
    return tuple(lines)


def _whole(records: Sequence[Record]) -> list[str]:
    return [f"    {record.order:>4}  {_describe(record)}" for record in records]


def _between(records: Sequence[Record], orders: Sequence[int]) -> list[str]:
    """The lines from the first to the last of some numbers; those themselves are marked, and others left out first."""
    if not orders:
        return []
    inside = [record for record in records if min(orders) <= record.order <= max(orders) and record.stream is not None]
    left_out = len(inside) - LINES
    if left_out > 0:
        inside = [*inside[: LINES // 2], *inside[-LINES // 2 :]]
    lines = [f"  {'>' if record.order in orders else ' '} {record.order:>4}  {_describe(record)}" for record in inside]
    if left_out > 0:
        lines.insert(LINES // 2, f"    ...   {left_out} lines")
    return lines


def _describe(record: Record) -> str:
    """One line: `s3 Mm#2 reads 0x7f00 0x7f80, writes 0x8000`."""
    number = "" if record.node is None else f"#{record.node}"
    used = [
        f"{verb} {' '.join(addresses)}"
        for verb, addresses in (
            ("reads", [f"{operand.address:#x}" for operand in record.operands if operand.reads]),
            ("writes", [f"{operand.address:#x}" for operand in record.operands if operand.writes]),
        )
        if addresses
    ]
    return f"{record.describe()}{number} {', '.join(used)}".rstrip()
