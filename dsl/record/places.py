"""Where in the user's code something is issued."""

from __future__ import annotations

import ast
import inspect
import sys
from types import CodeType, FrameType

from streamsched.dsl.diagnostic import Span
from streamsched.dsl.record.sources import RETURNED, Texts, texts_of
from streamsched.dsl.trace.sources import Sources
from streamsched.dsl.trace.tracing.failures import Place, span_of
from streamsched.dsl.trace.tracing.frames import Internals, raw_position

_DEPTH = 64
"""How many frames are looked at for one of the user's own."""


class Places:
    """Turns the frames of the moment into spans and names.

    `base` is the folder that the user's files lie in. What is further out than `caller`, the function that calls
    forward(), is nobody's place.
    """

    def __init__(self, base: str, sources: Sources, internals: Internals, caller: CodeType) -> None:
        self.base = base
        self.sources = sources
        self._internals = internals
        self._caller = caller
        self._own: dict[str, bool] = {}
        self._texts: dict[str, Texts] = {}
        self._spans: dict[tuple[CodeType, int], Span] = {}

    def here(self) -> Span | None:
        """The innermost place in the user's own files; failing that, in anybody's but torch's."""
        frame = self.frame()
        return None if frame is None else self.span(frame)

    def frame(self) -> FrameType | None:
        """The frame of that place."""
        fallback: FrameType | None = None
        frame: FrameType | None = sys._getframe(1)
        for _ in range(_DEPTH):
            if frame is None or frame.f_code is self._caller:
                break
            filename = frame.f_code.co_filename
            if filename not in self._internals:
                if self._is_own(filename):
                    return frame
                fallback = fallback or frame
            frame = frame.f_back
        return fallback

    def span(self, frame: FrameType) -> Span:
        """Where a frame is now."""
        key = frame.f_code, frame.f_lasti
        span = self._spans.get(key)
        if span is None:
            span = self._spans[key] = span_of(Place(*key), self.base, self.sources)
        return span

    def bound(self) -> tuple[str, ...]:
        """The names that the result of the running call is bound to, through the functions that return it."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code is not self._caller:
            filename = frame.f_code.co_filename
            if filename not in self._internals:
                names = self._texts_of(filename).bound.get(raw_position(frame.f_code, frame.f_lasti))
                if names != RETURNED:
                    return names or ()
            frame = frame.f_back
        return ()

    def call(self) -> ast.Call | None:
        """The running call as it is written."""
        frame = self.frame()
        if frame is None:
            return None
        return self._texts_of(frame.f_code.co_filename).calls.get(raw_position(frame.f_code, frame.f_lasti))

    def variables(self) -> dict[str, object]:
        """The variables at that place.

        Before Python 3.13, a function that was asked for them keeps them until it returns, so that a tensor which it
        deletes would live on: here it is made to forget them.
        """
        frame = self.frame()
        if frame is None:
            return {}
        kept = frame.f_locals
        found = dict(kept)
        if sys.version_info < (3, 13) and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            kept.clear()
        return found

    def _texts_of(self, filename: str) -> Texts:
        texts = self._texts.get(filename)
        if texts is None:
            texts = self._texts[filename] = texts_of(filename)
        return texts

    def _is_own(self, filename: str) -> bool:
        own = self._own.get(filename)
        if own is None:
            own = self._own[filename] = self.sources.is_own(filename)
        return own
