"""The hash of a schedule's meaning: it changes with the statements, and not with comments or layout."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from hashlib import sha256
from typing import TypeAlias

from streamsched.dsl.syntax.tree import Schedule

_Plain: TypeAlias = "bool | int | float | str | list[_Plain] | None"


def digest(schedule: Schedule) -> str:
    """SHA-256 of the tree of `schedule` without comments and spans, in hex."""
    text = json.dumps(_plain(schedule), separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


def _plain(node: object) -> _Plain:
    """A node of the tree as a list: its class, then the fields that take part in equality."""
    if is_dataclass(node):
        return [type(node).__name__, *(_plain(getattr(node, field.name)) for field in fields(node) if field.compare)]
    if isinstance(node, tuple):
        return [_plain(item) for item in node]
    assert node is None or isinstance(node, (bool, int, float, str)), node
    return node
