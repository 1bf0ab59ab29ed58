"""Whether it matters what forward() is told when it asks whether it is being compiled: it is run with the other
answer, without being exported, and the calls into torch are compared.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.trace import loss_rules
from streamsched.dsl.trace.tracing.example_inputs import Inputs
from streamsched.dsl.trace.tracing.loader import Session
from streamsched.dsl.trace.tracing.places import at_issue
from streamsched.dsl.trace.tracing.provenance.recorder import Recorder
from streamsched.dsl.trace.tracing.traps.again import run_again

_MODES = frozenset({"_set_grad_enabled", "_enter_autocast", "_exit_autocast"})
"""Calls that torch.export makes where an ordinary run makes none."""


@dataclass(frozen=True, slots=True)
class _Difference:
    """`traced` and `other` are the first calls into torch that differ, empty where one run has none left; `moment` is
    the traced one's, of the last before it if it is empty. `raised` tells that the other run ended with an exception.
    """

    traced: str
    other: str
    moment: int
    raised: str = ""


def compiling_matters(
    session: Session, model: torch.nn.Module, inputs: Inputs, recorder: Recorder
) -> tuple[Diagnostic, ...]:
    """The warning that forward() runs other ops when it is told otherwise; nobody is said to ask where it does not."""
    asked = recorder.calls.records[0].asks_compiling
    found = _difference(session, model, inputs, recorder) if asked else None
    if found is None:
        recorder.forget_asking()
        return ()
    if session.request.chosen:
        return ()
    compiled = session.request.compiled
    how, other = ("compiled", "eager") if compiled else ("eager", "compiled")
    what = f"`{found.traced}()`" if found.traced else "nothing more"
    instead = f"`{found.other}()`" if found.other else f"{found.raised}" if found.raised else "nothing more"
    message = f"forward() asks whether it is being compiled, and runs other ops when it is {'not' if compiled else ''}"
    notes = (f"the trace is that of {how} runs: here {what}; in {other} ones {instead}",)
    issue = recorder.issues.get(found.moment)
    related = () if issue is None else at_issue(session, recorder, issue, "the first difference")
    return (loss_rules.compiling_changes_ops(session.request.model_span, message.rstrip(), related, notes),)


def _difference(session: Session, model: torch.nn.Module, inputs: Inputs, recorder: Recorder) -> _Difference | None:
    """Where the trace differs from a run with the other answer; None if it does not."""
    traced = [(moment, name) for moment, name in recorder.names.items() if name not in _MODES]
    other = run_again(session, model, inputs, recorder, compiling=not session.request.compiled)
    found = [name for name, _ in other.calls if name not in _MODES]
    if other.leaf:  # it raised in a leaf, which need not run outside of a trace
        traced = traced[: len(found)]
    for index, (moment, name) in enumerate(traced):
        if index >= len(found) or name != found[index]:
            return _Difference(name, found[index] if index < len(found) else "", moment, other.raised)
    last = traced[-1][0] if traced else 0
    return _Difference("", found[len(traced)], last, other.raised) if len(found) > len(traced) else None
