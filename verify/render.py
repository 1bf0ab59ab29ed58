"""A verdict as text for people."""

from __future__ import annotations

import re
from collections.abc import Sequence

from streamsched.verify.verdict import Verdict

_RANDOM = re.compile(r"random order (\d+)")

SHOWN = 10
"""How many differences are spelled out."""


def render(verdict: Verdict, verbose: bool = False) -> str:
    """What was compared, under what, and where it differs; `verbose` leaves nothing out and adds tracebacks."""
    limit = None if verbose else SHOWN
    orders = _shortened(verdict.orders)
    shown = [*orders[:limit], *(["..."] if not verbose and len(orders) > SHOWN else [])]
    under = f"{verdict.calls} call{'s' * (verdict.calls > 1)} each: {', '.join(shown) or 'none'}"
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


def _shortened(orders: Sequence[str]) -> list[str]:
    """The names of orders; random ones that follow each other in one: `random orders 0..9`."""
    found: list[tuple[str, int, int]] = []
    for name in orders:
        match = _RANDOM.fullmatch(name)
        number = int(match[1]) if match else 0
        if match and found and found[-1][0] == "random" and found[-1][2] == number - 1:
            found[-1] = ("random", found[-1][1], number)
        else:
            found.append(("random" if match else name, number, number))
    return [
        name if name != "random" else f"random order {first}" if first == last else f"random orders {first}..{last}"
        for name, first, last in found
    ]


def _lines(engine: str, lines: list[str]) -> str:
    return "\n".join(f"{engine}: {line}" for line in lines)
