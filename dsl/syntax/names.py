"""The checks of a schedule on its own, without a trace."""

from __future__ import annotations

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.syntax.tree import Schedule


def check_names(schedule: Schedule, torn: frozenset[str] = frozenset()) -> tuple[Diagnostic, ...]:
    """What is wrong with the names and statements of `schedule`.

    `torn` are the words of statements that did not parse: a name among them may well be declared or used there, so
    nothing is said about it being undefined or unused.
    """
    return ()
