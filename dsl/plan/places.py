"""Where an op stands in the user's source."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property

from streamsched.dsl.diagnostic import Span
from streamsched.dsl.trace.model import NONE, Position, Trace


@dataclass(frozen=True)
class Locator:
    """Spans for the ops of a trace. The user's own files are named from `base`, the schedule's folder."""

    trace: Trace
    base: str
    _by_stack: dict[int, Span | None] = field(default_factory=dict)

    @cached_property
    def _own(self) -> dict[str, str]:
        """The user's own files, by the key that positions use."""
        return {
            key: os.path.normpath(os.path.join(self.base, source.path))
            for key, source in self.trace.sources
            if not source.package
        }

    def source(self, op: int) -> Span | None:
        """The innermost frame of the user's own files that issued the op; failing that, the innermost of all."""
        stack = self.trace.ops[op].stack
        if stack not in self._by_stack:
            self._by_stack[stack] = None if stack == NONE else self._innermost(self.trace.stacks[stack])
        return self._by_stack[stack]

    def _innermost(self, stack: tuple[int, ...]) -> Span | None:
        positions = [self.trace.positions[index] for index in reversed(stack)]
        own = self._own
        for position in positions:
            if position.file in own:
                return _span(position, own[position.file])
        return _span(positions[0], positions[0].file) if positions else None


def _span(position: Position, file: str) -> Span:
    return Span(file, position.line, position.column, position.end_line, position.end_column)
