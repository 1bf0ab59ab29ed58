"""The warnings that what a model makes of chance or of a clock is built into its trace."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import torch

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.trace import chance_rules
from streamsched.dsl.trace.tracing.example_inputs import Inputs
from streamsched.dsl.trace.tracing.loader import Session
from streamsched.dsl.trace.tracing.places import at
from streamsched.dsl.trace.tracing.provenance.recorder import Recorder
from streamsched.dsl.trace.tracing.traps.again import run_again
from streamsched.dsl.trace.tracing.traps.chance import Chance, clocks, replaced

_FASTER = (1009, 40_000_003)
"""By how many units other clocks are further ahead with each reading: a quarter of an hour, and more than a year."""


def chances(
    session: Session, model: torch.nn.Module, inputs: Inputs, recorder: Recorder, chance: Chance
) -> Iterator[Diagnostic]:
    """The warnings about what was drawn, and about the clocks that were read as far as it matters."""
    span = session.request.model_span
    for place in chance.drawn.places:
        message = f"{place.code.co_qualname}() draws a random number in Python, and what comes of it is built in"
        yield chance_rules.chance_decides(span, message, at(session, place, "drawn here"))
    for name in chance.moved:
        message = f"forward() draws random numbers of `{name}` in Python, and what comes of them is built in"
        yield chance_rules.chance_decides(span, message, ())
    told = chance.drawn.places or chance.moved  # what is drawn differs from run to run
    if chance.clock.places and not told and _clock_matters(session, model, inputs, recorder):
        for place in chance.clock.places:
            message = f"{place.code.co_qualname}() reads a clock, and what comes of the time is built in"
            yield chance_rules.chance_decides(span, message, at(session, place, "read here"))


def _clock_matters(session: Session, model: torch.nn.Module, inputs: Inputs, recorder: Recorder) -> bool:
    """Whether the model computes something else by clocks that run than by clocks that stand still: a log of how long
    it takes does not. One that computes something else each time, as by chance, does not tell.
    """
    run = functools.partial(run_again, session, model, inputs, recorder, compiling=session.request.compiled)
    with replaced({clock: _stopped(clock) for clock in clocks()}):
        stopped = run()
        if run() != stopped:
            return False
    for by in _FASTER:
        with replaced({clock: _faster(clock, by) for clock in clocks()}):
            if run() != stopped:
                return True
    return False


def _stopped(clock: Callable[..., Any]) -> Callable[..., Any]:
    now = clock()
    return functools.wraps(clock)(lambda *_, **__: now)


def _faster(clock: Callable[..., Any], by: int) -> Callable[..., Any]:
    ahead = itertools.count(by, by)

    @functools.wraps(clock)
    def read(*args: Any, **kwargs: Any) -> Any:
        return clock(*args, **kwargs) + next(ahead)

    return read
