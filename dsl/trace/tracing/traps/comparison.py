"""Whether it matters what forward() is told when it asks whether it is being compiled: it is run with the other
answer, without being exported, and the calls into torch are compared.
"""

from __future__ import annotations

import contextlib
import copy
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.trace import loss_rules
from streamsched.dsl.trace.tracing.example_inputs import Inputs
from streamsched.dsl.trace.tracing.failures import cause
from streamsched.dsl.trace.tracing.loader import Session
from streamsched.dsl.trace.tracing.places import at_issue
from streamsched.dsl.trace.tracing.provenance.issues import issued_name
from streamsched.dsl.trace.tracing.provenance.recorder import Recorder
from streamsched.dsl.trace.tracing.state.attributes import unchanged
from streamsched.dsl.trace.tracing.traps import compiling

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
    other = _Names()
    raised = ""
    with unchanged(model), warnings.catch_warnings(action="ignore"):
        args, kwargs = copy.deepcopy((inputs.args, inputs.kwargs))
        answer = compiling.answered(session.internals, not session.request.compiled, lambda _: None)
        try:
            with torch.no_grad(), answer, other, recorder.leaves.outside(model, other.paused):
                model(*args, **kwargs)
        except Exception as error:
            raised = "" if other.leaf else cause(error)
    found = [name for name in other.names if name not in _MODES]
    if other.leaf:  # it raised in a leaf, which need not run outside of a trace
        traced = traced[: len(found)]
    for index, (moment, name) in enumerate(traced):
        if index >= len(found) or name != found[index]:
            return _Difference(name, found[index] if index < len(found) else "", moment, raised)
    last = traced[-1][0] if traced else 0
    return _Difference("", found[len(traced)], last, raised) if len(found) > len(traced) else None


class _Names(TorchFunctionMode):
    """The names of the calls into torch."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.leaf = False  # whether a leaf is running, or raised

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Note nothing while a leaf runs, which is one op of a trace."""
        outer, self.leaf = self.leaf, True
        yield
        self.leaf = outer

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = issued_name(func)
        if name is not None and not self.leaf:
            self.names.append(name)
        return func(*args, **(kwargs or {}))
