"""A verdict as text for people."""

from __future__ import annotations

from streamsched.verify.verdict import Verdict

SHOWN = 10
"""How many differences are spelled out."""


def render(verdict: Verdict, verbose: bool = False) -> str:
    """What was compared, under what, and where it differs; `verbose` leaves nothing out and adds tracebacks."""
    limit = None if verbose else SHOWN
    orders = [*verdict.orders[:limit], *(["..."] if not verbose and len(verdict.orders) > SHOWN else [])]
    under = f"{verdict.calls} call{'s' * (verdict.calls > 1)} each: {', '.join(orders) or 'none'}"
    notes = [f"note: {note}" for note in verdict.notes]
    head = [verdict.compared, under, *notes]
    if verdict.agrees:
        return _lines(verdict.engine, [*head, "all outputs agree"])
    found = [*map(str, verdict.failures), *map(str, verdict.differences)]
    lines = [*head, *(f"DIFFERS: {text}" for text in found[:limit])]
    if not verbose and len(found) > SHOWN:
        lines.append(f"... and {len(found) - SHOWN} more (--verbose shows them)")
    details = [failure.details for failure in verdict.failures if failure.details] if verbose else []
    return "\n".join([_lines(verdict.engine, lines), *details, *verdict.evidence])


def _lines(engine: str, lines: list[str]) -> str:
    return "\n".join(f"{engine}: {line}" for line in lines)
