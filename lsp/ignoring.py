"""The codes of rules, offered inside of a comment that ignores their findings."""

from __future__ import annotations

import re
from collections.abc import Iterator

from streamsched.dsl.rules import ALL

_IGNORES = re.compile(r"#+\s*streamsched:\s*ignore\s*\[(?:\s*\w+\s*,)*\s*(?P<code>\w*)$")


_ELSEWHERE = ("AUD", "CFG")
"""The families of rules that find nothing in a schedule."""


def code_at(before: str) -> str | None:
    """What of a code has been typed at the end of `before`; None where no code can stand."""
    match = _IGNORES.search(before[before.rfind("\n") + 1 :])
    return match["code"] if match is not None else None


def codes() -> Iterator[tuple[str, str]]:
    """The code of every rule that finds something in schedules, with the rule's name."""
    yield from ((code, rule.name) for code, rule in ALL.items() if not code.startswith(_ELSEWHERE))
