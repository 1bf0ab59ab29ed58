"""Which execution of a statement an op belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from types import FrameType

from streamsched.dsl.trace.model import NONE


@dataclass(slots=True)
class _Last:
    offset: int
    inner: FrameType | None
    visit: int


class Visits:
    """Counts the executions of the statements of one running function, from the places where its ops are issued."""

    def __init__(self) -> None:
        self._last: dict[int, _Last] = {}
        self._statement = NONE

    def visit(self, statement: int, offset: int, inner: FrameType | None, may_repeat: bool) -> int:
        """The number of the execution, from 0, of `statement` that issues an op now.

        `offset` is the bytecode offset where the function stands, `inner` the frame it has called from there, None
        where it calls torch itself. `may_repeat` tells that one execution can come by that place again.
        """
        last = self._last.get(statement)
        if last is None:
            last = self._last[statement] = _Last(offset, inner, 0)
        elif self._statement != statement or self._is_new(last, offset, inner, may_repeat):
            last.visit += 1
        last.offset = offset
        last.inner = inner
        self._statement = statement
        return last.visit

    @staticmethod
    def _is_new(last: _Last, offset: int, inner: FrameType | None, may_repeat: bool) -> bool:
        if offset > last.offset or may_repeat:
            return False
        if offset < last.offset:
            return True
        # The frame is held, so its identity is not that of a frame that has gone.
        return inner is None or inner is not last.inner
