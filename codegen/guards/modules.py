"""The checks of the modules whose ops are printed one by one: what steers their Python, and what they compute with."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator

from streamsched.codegen.forward.folding import Folding
from streamsched.codegen.forward.state import unfolded
from streamsched.codegen.guards.check import Check, is_constant
from streamsched.codegen.guards.objects import replaced
from streamsched.codegen.spell.arguments import spell_literal
from streamsched.dsl.trace.model import NONE, ModuleCall, StorageKind, Trace
from streamsched.dsl.trace.numbers import numbers_in, numbers_of_call, numbers_of_op

OWN = "self."
"""What the expressions of a module's own attributes begin with."""


def flags(trace: Trace, folding: Folding) -> Iterator[Check]:
    """What steered the forward() of each module whose ops are printed one by one."""
    printed = (call for index, call in enumerate(trace.calls) if call.flags and is_unfolded(trace, folding, index))
    for expression, text in dict(flag for call in printed for flag in call.flags).items():
        yield is_constant(expression, spell_literal(text))


def constants(trace: Trace, folding: Folding) -> Iterator[Check]:
    """What the attributes hold whose numbers are printed."""
    for index, call in enumerate(trace.calls):
        if call.constants and is_unfolded(trace, folding, index):
            printed = set(_printed_numbers(trace, folding, call))
            for expression, text, shown in call.constants:
                if numbers_in(shown) <= printed:
                    yield is_constant(expression, spell_literal(text))


def _printed_numbers(trace: Trace, folding: Folding, call: ModuleCall) -> Iterator[Hashable]:
    """The numbers in the ops of a call that are printed one by one, and in the calls inside it that are printed."""
    called = dict.fromkeys(folding.call_of[call.begin : call.end])
    for folded in called:
        if folded != NONE:
            yield from numbers_of_call(trace.calls[folded], trace.values)
    for op in range(call.begin, call.end):
        if folding.call_of[op] == NONE:
            yield from numbers_of_op(trace.ops[op], trace.values)


def changing(trace: Trace, folding: Folding) -> list[Check]:
    """What attributes held that the code changes itself; a module that is called checks nothing and runs again."""
    found: list[Check] = []
    for assignment in unfolded(trace, frozenset(folding.call_of) - {NONE}):
        if assignment.target.startswith(OWN):
            found += replaced(assignment, found)
    return found


def is_unfolded(trace: Trace, folding: Folding, index: int) -> bool:
    """Whether the ops of a call, or calls inside it, are printed in its place."""
    call = trace.calls[index]
    if call.begin == call.end:
        return call.parent == NONE
    folded = folding.call_of[call.begin]
    if folded == NONE:
        return True
    outer = trace.calls[folded].parent
    while outer not in (NONE, index):
        outer = trace.calls[outer].parent
    return outer == index


def dtypes(trace: Trace) -> Iterator[Check]:
    """The dtype of one parameter, or else buffer, of each floating dtype: a model that was cast is another."""
    nearest: dict[str, tuple[tuple[bool, int], str]] = {}
    for value in trace.values:
        kind = trace.storages[value.storages[0]].kind
        if kind not in (StorageKind.PARAMETER, StorageKind.BUFFER) or "float" not in value.dtype:
            continue
        if value.expression:
            rank = (kind is StorageKind.BUFFER, len(re.findall(r"[.\[]", value.expression)))
            nearest[value.dtype] = min(nearest.get(value.dtype, (rank, value.expression)), (rank, value.expression))
    for dtype, (_, expression) in nearest.items():
        yield Check(expression, f"{expression}.dtype", f"torch.{dtype}", f"{expression}: {dtype}")
