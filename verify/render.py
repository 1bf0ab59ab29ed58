"""A verdict as text for people."""

from __future__ import annotations

from streamsched.verify.verdict import Verdict

SHOWN = 10
"""How many differences are spelled out."""


def render(verdict: Verdict) -> str:
    """What was compared, under what, and where it differs."""
    shown = [*verdict.orders[:SHOWN], *(["..."] if len(verdict.orders) > SHOWN else [])]
    under = f"{verdict.calls} call{'s' * (verdict.calls > 1)} each: {', '.join(shown) or 'none'}"
    lines = [f"{verdict.engine}: {verdict.compared}", f"{verdict.engine}: {under}"]
    if verdict.agrees:
        return "\n".join([*lines, f"{verdict.engine}: all outputs agree"])
    found = [*map(str, verdict.failures), *map(str, verdict.differences)]
    lines += [f"{verdict.engine}: DIFFERS: {text}" for text in found[:SHOWN]]
    if len(found) > SHOWN:
        lines.append(f"{verdict.engine}: ... and {len(found) - SHOWN} more")
    lines += verdict.notes
    return "\n".join(lines)
