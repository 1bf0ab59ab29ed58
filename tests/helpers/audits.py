"""What an audit finds, told by the lines that it speaks of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """A finding in brief: the source lines, stripped, that it and its related places begin on."""

    code: str
    message: str
    at: str
    related: tuple[str, ...]
    help: str


Auditor = Callable[..., list[Finding]]
