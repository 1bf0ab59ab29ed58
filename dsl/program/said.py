"""What a schedule says of its ops by `collective` and `batch`: which ops it holds of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from streamsched.dsl.program.steps import Holding
from streamsched.dsl.trace.collectives import WAIT

_TORCHS_OWN = "aten."


def said_of(
    members: Mapping[int, Sequence[int]],
    holdings: Sequence[Holding],
    begins: Collection[int],
    target: Callable[[int], str],
) -> dict[int, Holding]:
    """By op (or step): what is said of it. `members` are its groups, `begins` those known to begin a collective.

    Who says `collective value "y"` means the communication in that statement: the wait for a collective's end holds no
    core, nor do torch's own ops beside a collective in the group, as the copy that puts the result in place.
    """
    said = {holding.group: holding for holding in reversed(holdings)}
    if not said:
        return {}
    known = {group for op in begins for group in members.get(op, ())}
    found: dict[int, Holding] = {}
    for op, groups in members.items():
        holding = next((said[group] for group in groups if group in said), None)
        if holding is None or target(op) == WAIT:
            continue
        if holding.collective and holding.group in known and op not in begins and target(op).startswith(_TORCHS_OWN):
            continue
        found[op] = holding
    return found
