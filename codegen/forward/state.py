"""What a forward leaves in the objects that it is given, and which module calls may do so by running again.

A call that is printed as a call runs the user's Python: it assigns what it assigned while it was traced. What the code
around it assigned must be there before it, where it may look at it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from streamsched.codegen.forward.trees import texts
from streamsched.dsl.trace.model import NONE, Assignment, ModuleCall, Trace, refs

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class State:
    """The assignments of a trace, seen from its module calls."""

    trace: Trace

    def concerns(self, call: ModuleCall) -> bool:
        """Whether a call assigns something itself, or is given an object that something is assigned to."""
        if not self.trace.assignments:
            return False
        arguments = (*call.args, *(argument for _, argument in call.kwargs))
        given = {word for argument in arguments for text in texts(argument) for word in _WORD.findall(text)}
        return bool(given & self._assigned) or any(self.makes(call, each) for each in self.trace.assignments)

    def allows(self, call: ModuleCall) -> bool:
        """Whether a call that runs again finds and leaves what it should: nobody else assigns to the same places, and
        no place that it may look at is assigned to both before and after it.
        """
        for assignment in self.trace.assignments:
            if self.makes(call, assignment):
                if not all(self._inside(maker, call) for maker in assignment.calls):
                    return False
            elif assignment.since <= call.begin < assignment.until:
                return False
        return True

    def escapes(self, value: int, call: ModuleCall) -> bool:
        """Whether code outside of `call` leaves a value in an argument."""
        return any(not self.makes(call, assignment) for assignment in self._of_value.get(value, ()))

    @cached_property
    def _assigned(self) -> frozenset[str]:
        """The names of the parameters that lead to what is assigned to."""
        roots = {_WORD.findall(assignment.target)[0] for assignment in self.trace.assignments}
        return frozenset(roots - {"self"})  # an attribute is looked at by its own module, which makes the assignment

    @cached_property
    def _of_value(self) -> dict[int, list[Assignment]]:
        found: dict[int, list[Assignment]] = {}
        for assignment in self.trace.assignments:
            for value in refs(assignment.value):
                found.setdefault(value, []).append(assignment)
        return found

    def makes(self, call: ModuleCall, assignment: Assignment) -> bool:
        """Whether code inside of `call` assigns."""
        return any(self._inside(maker, call) for maker in assignment.calls)

    def _inside(self, inner: int, call: ModuleCall) -> bool:
        return any(outer is call for outer in self._outward(inner))

    def _outward(self, call: int) -> Iterator[ModuleCall]:
        while call != NONE:
            yield self.trace.calls[call]
            call = self.trace.calls[call].parent


def unfolded(trace: Trace, printed: frozenset[int]) -> tuple[Assignment, ...]:
    """The assignments that none of the module calls `printed` as calls makes, in the order in which they are due."""
    state = State(trace)
    calls = [trace.calls[index] for index in printed]
    found = [a for a in trace.assignments if not any(state.makes(call, a) for call in calls)]
    return tuple(sorted(found, key=lambda assignment: assignment.until))
