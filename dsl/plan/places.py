"""Where an op stands in the user's source."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from streamsched.dsl.diagnostic import Span
from streamsched.dsl.trace.model import NONE, Trace


@dataclass(frozen=True)
class Locator:
    """Spans for the ops of a trace. The user's own files are named from `base`, the schedule's folder."""

    trace: Trace
    base: str
    _by_stack: dict[int, Span | None] = field(default_factory=dict)

    def source(self, op: int) -> Span | None:
        """The innermost frame of the user's own files that issued the op; failing that, the innermost of all."""
        stack = self.trace.ops[op].stack
        if stack not in self._by_stack:
            self._by_stack[stack] = None if stack == NONE else self._innermost(self.trace.stacks[stack])
        return self._by_stack[stack]

    def _innermost(self, stack: tuple[int, ...]) -> Span | None:
        sources = dict(self.trace.sources)
        positions = [self.trace.positions[index] for index in reversed(stack)]
        own = [p for p in positions if p.file in sources and not sources[p.file].package]
        for position in (own or positions)[:1]:
            source = sources.get(position.file)
            file = position.file if source is None else source.path
            if own:
                file = os.path.normpath(os.path.join(self.base, file))
            return Span(file, position.line, position.column, position.end_line, position.end_column)
        return None
