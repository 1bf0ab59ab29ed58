"""What forward() leaves in its arguments, as assignments that generated code can make at its end."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType

import torch

from streamsched.dsl.trace.model import (
    ABSENT,
    OF_CLASS,
    Argument,
    Assignment,
    Instance,
    Literal,
    Mapping,
    Op,
    OpKind,
    Value,
    refs,
)
from streamsched.dsl.trace.model import Sequence as Items
from streamsched.dsl.trace.tracing.arguments import literal, opaque
from streamsched.dsl.trace.tracing.provenance.calls import Calls
from streamsched.dsl.trace.tracing.state.objects import ABSENT as NOT_THERE
from streamsched.dsl.trace.tracing.state.objects import Put
from streamsched.dsl.trace.tracing.state.steering import Readers


@dataclass(frozen=True, slots=True)
class State:
    """The assignments, and in people's words what none can be made of."""

    assignments: tuple[Assignment, ...]
    refused: tuple[str, ...]


def state_of(
    puts: Sequence[tuple[Put, Argument]],
    moments: Sequence[int],
    ops: Sequence[Op],
    values: Sequence[Value],
    result: Argument,
) -> State:
    """The assignments that do what `puts` did; `moments` are those of the ops."""
    made = tuple(
        Assignment(
            put.target,
            value,
            put.calls,
            bisect.bisect_right(moments, put.since),
            bisect.bisect_right(moments, put.until),
            _before(put.before),
        )
        for put, value in puts
    )
    refused = [
        f"forward() puts {what} into {assignment.target}, which generated code cannot make"
        for assignment in made
        for what in opaque(assignment.value)
    ]
    uses = _Uses(made, ops, values, result)
    refused += [
        f"forward() uses what was in {assignment.target} after it has put something else there"
        for assignment in made
        if uses.former(assignment)
    ]
    return State(made, tuple(dict.fromkeys(refused)))


def _before(value: object) -> str:
    """What a place held at entry, as an assignment tells it."""
    if value is NOT_THERE:
        return ABSENT
    name = "Tensor" if isinstance(value, torch.Tensor) else type(value).__name__
    return literal(value) or f"{OF_CLASS}{name}"


def attribute_state(calls: Calls, codes: Iterable[CodeType], end: int) -> State:
    """The assignments that leave in plain attributes what forward() left there, made after all `end` ops: those that it
    may read when it runs again. `codes` are the functions that issued ops."""
    if not calls.changed:
        return State((), ())
    forwards = {record.path: record.code for record in calls.records}
    readers = Readers(dict.fromkeys((*codes, *filter(None, forwards.values()))))
    made: list[Assignment] = []
    refused: list[str] = []
    for change in calls.changed:
        if not readers.may_read(change.name, forwards.get(change.path)):
            continue
        target = calls.target(change)
        makers = tuple(index for index, record in enumerate(calls.records) if record.path == change.path)
        if change.path and (not makers or readers.sets_from_outside(change.name)):
            refused.append(f"forward() reads {target} and changes it from another module, or may do so")
        before = ABSENT if change.before is None else change.before
        made.append(Assignment(target, Literal(change.now), makers or (0,), end, end, before))
    return State(tuple(made), tuple(refused))


class _Uses:
    """Who uses what the arguments held at entry: once another thing is there, it has no expression any more."""

    def __init__(
        self, made: Sequence[Assignment], ops: Sequence[Op], values: Sequence[Value], result: Argument
    ) -> None:
        self._ops = ops
        self._given = [(i, value.expression) for i, value in enumerate(values) if value.expression and made]
        self._by: dict[int, list[int]] = defaultdict(list)
        for index, op in enumerate(ops if made else ()):
            for argument in (*op.args, *(argument for _, argument in op.kwargs)):
                for value in refs(argument):
                    self._by[value].append(index)
        trees = (result, *(assignment.value for assignment in made))
        self._kept = {value for tree in trees for value in refs(tree)}
        self._texts = {text for tree in trees for text in _texts(tree)}

    def former(self, assignment: Assignment) -> bool:
        """Whether what a place held is used when it may hold something else, or is left somewhere at the end."""
        if any(_leads_through(text, assignment.target) for text in self._texts):
            return True
        pending = [value for value, text in self._given if _leads_through(text, assignment.target)]
        while pending:
            value = pending.pop()
            if value in self._kept:
                return True
            for index in self._by[value]:
                if index >= assignment.since:
                    return True
                if self._ops[index].kind is OpKind.VIEW:  # it is written where its result is used
                    pending += refs(self._ops[index].result)
        return False


def _leads_through(expression: str, place: str) -> bool:
    return expression == place or expression.startswith((f"{place}.", f"{place}["))


def _texts(argument: Argument) -> Iterator[str]:
    """The constants in a tree."""
    if isinstance(argument, Literal):
        yield argument.text
    elif isinstance(argument, Items | Mapping | Instance):
        for item in argument.items:
            yield from _texts(item)
