"""Where in the user's source something is that a diagnostic is about; nothing where that is not known."""

from __future__ import annotations

from torch.fx import Node

from streamsched.dsl.diagnostic import Related, Span
from streamsched.dsl.trace.model import NONE
from streamsched.dsl.trace.tracing import failures
from streamsched.dsl.trace.tracing.assembly.values import issue_of
from streamsched.dsl.trace.tracing.failures import Place
from streamsched.dsl.trace.tracing.loader import Session
from streamsched.dsl.trace.tracing.provenance.issues import Issue
from streamsched.dsl.trace.tracing.provenance.recorder import Recorder


def returned(session: Session, recorder: Recorder) -> tuple[Related, ...]:
    """Where the scope's forward() returns."""
    found = recorder.calls.returned
    return () if found is None or found.place is None else at(session, found.place, "returned here")


def at(session: Session, place: Place, message: str) -> tuple[Related, ...]:
    """A place in the user's code."""
    return (Related(failures.span_of(place, session.request.base, session.sources), message),)


def at_node(session: Session, recorder: Recorder, node: Node, message: str) -> tuple[Related, ...]:
    """The user's own innermost place that issued a node."""
    issue = recorder.issues.get(issue_of(node) or 0)
    return () if issue is None else at_issue(session, recorder, issue, message)


def at_issue(session: Session, recorder: Recorder, issue: Issue, message: str) -> tuple[Related, ...]:
    """The user's own innermost place that made a call into torch."""
    return at_stack(session, recorder, issue.stack, message)


def at_stack(session: Session, recorder: Recorder, number: int, message: str) -> tuple[Related, ...]:
    """The user's own innermost place of a stack of positions; nothing for none."""
    if number == NONE:
        return ()
    positions = recorder.positions.all_positions()
    stack = [positions[index] for index in recorder.positions.all_stacks()[number]]
    own = [p for p in stack if not session.sources.is_installed(p.file)]
    for position in (own or stack)[-1:]:
        span = Span(
            failures.path_of(position.file, session.request.base, session.sources),
            position.line,
            position.column,
            position.end_line,
            position.end_column,
        )
        return (Related(span, message),)
    return ()
