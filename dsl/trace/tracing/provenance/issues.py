"""Calls into torch: how each marks the graph nodes that it makes, and what it is called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from streamsched.dsl.trace.model import NONE

ISSUE = "streamsched_issue"
"""The annotation of a graph node with the issue that made it."""
TAG = "streamsched_tag"
"""The annotation of a graph node that an argument tree or a local refers to."""

_PROPERTIES_WITH_OPS = frozenset({"T", "mT", "H", "mH", "data", "real", "imag", "grad"})
_QUERIES = frozenset(
    {"size", "dim", "stride", "numel", "is_contiguous", "is_floating_point", "element_size", "__len__"}
)


@dataclass(frozen=True, slots=True)
class Issue:
    """One call into torch: what the ops that it makes have in common."""

    call: int
    stack: int
    statement: int  # of Recorder.function
    visit: int


NOWHERE = Issue(0, NONE, NONE, 0)
"""Of what no call into torch made."""


def issued_name(func: Any) -> str | None:
    """What a call into torch is called; None for one that only looks at a tensor's metadata."""
    name = getattr(func, "__name__", "")
    if name == "__get__":
        attribute = getattr(func.__self__, "__name__", "")
        return attribute if attribute in _PROPERTIES_WITH_OPS else None
    return None if name in _QUERIES else name
