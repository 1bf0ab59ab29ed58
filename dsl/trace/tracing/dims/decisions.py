"""What a model asks of its sizes while it is traced, and what it was told."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

import sympy
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from streamsched.dsl.trace.tracing.failures import Place
from streamsched.dsl.trace.tracing.frames import Internals

_CONVERSIONS = frozenset({"__bool__", "__int__", "__index__", "__float__"})
_SLICES = frozenset({"_compute_slice_index"})
_NEAR = 8  # frames between a question and the conversion that Python asks it by
_MACHINERY = "/torch/fx/experimental/"
_DISPATCH = "__torch_dispatch__"


@dataclass(frozen=True, slots=True)
class Decision:
    """A condition on torch's symbols that held when it was asked, in the user's code at `place`.

    `by_python` tells that the model's Python asked, and may have gone another way had it not held; else an operator
    did, which asks again each time that it runs. `slices` tells that the operator cuts a slice, whose size the trace
    then takes for given. `binding` tells that there are sizes of 2 or more for which the condition does not hold.
    `asked_by` is the function that asked, the model's or torch's.
    """

    condition: Any  # a sympy relation
    place: Place | None
    by_python: bool
    slices: bool
    binding: bool
    asked_by: CodeType | None


class Decisions:
    """All decisions of one export that matter, in order."""

    def __init__(self, internals: Internals, apart: Callable[[], bool]) -> None:
        self.all: list[Decision] = []
        self.environment: ShapeEnv | None = None
        self._internals = internals
        self._apart = apart  # whether a leaf is running, which runs the model's Python again each time

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Note decisions while the context lasts."""
        original = ShapeEnv.evaluate_sym_node

        def evaluate(environment: ShapeEnv, node: Any, *args: Any, **kwargs: Any) -> Any:
            expression, guards = node.expr, len(environment.guards)
            answer = original(environment, node, *args, **kwargs)
            binding = len(environment.guards) > guards
            self._note(environment, expression, answer, binding, sys._getframe(1))
            return answer

        ShapeEnv.evaluate_sym_node = evaluate  # type: ignore[method-assign, assignment]
        try:
            yield
        finally:
            ShapeEnv.evaluate_sym_node = original  # type: ignore[method-assign]

    def _note(self, environment: ShapeEnv, asked: Any, answer: Any, binding: bool, frame: FrameType | None) -> None:
        if asked in (sympy.true, sympy.false) or asked.is_number:
            return
        self.environment = environment
        inside = self._apart()
        by_python, slices = not inside and _is_asked_by_python(frame), not inside and _is_near(frame, _SLICES)
        if binding or by_python or slices:
            condition = environment.guards[-1].expr if binding else _held(asked, answer)
            self.all.append(Decision(condition, self._place(frame), by_python, slices, binding, _asker(frame)))

    def _place(self, frame: FrameType | None) -> Place | None:
        while frame is not None and frame.f_code.co_filename in self._internals:
            frame = frame.f_back
        return Place(frame.f_code, frame.f_lasti) if frame is not None else None


def _held(asked: Any, answer: Any) -> Any:
    """The condition that holds where `asked` was answered so."""
    if not isinstance(asked, sympy.logic.boolalg.Boolean):
        return sympy.Eq(asked, answer)
    return asked if bool(answer) else sympy.Not(asked)


def _asker(frame: FrameType | None) -> CodeType | None:
    """The function that asked, above torch's machinery for traced numbers."""
    while frame is not None and (_MACHINERY in frame.f_code.co_filename or frame.f_code.co_name in _CONVERSIONS):
        frame = frame.f_back
    return frame.f_code if frame is not None else None


def _is_near(frame: FrameType | None, functions: frozenset[str]) -> bool:
    """Whether one of `functions`, which are torch's, is a few frames up."""
    for _ in range(_NEAR):
        if frame is None:
            return False
        if frame.f_code.co_name in functions:
            return True
        frame = frame.f_back
    return False


def _is_asked_by_python(frame: FrameType | None) -> bool:
    """Whether Python turned a traced number into its own, and no operator was at work."""
    if not _is_near(frame, _CONVERSIONS):
        return False
    while frame is not None:
        if frame.f_code.co_name == _DISPATCH:
            return False
        frame = frame.f_back
    return True
