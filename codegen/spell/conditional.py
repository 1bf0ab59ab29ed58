"""`torch.cond(predicate, true_fn, false_fn, [x])`.

What the module itself holds is not passed: the branches, which stand in its forward(), name it as the user's do.
"""

from __future__ import annotations

from collections.abc import Iterator

from streamsched.codegen.spell.arguments import Name, spell_argument
from streamsched.dsl.trace.model import COND, Branch, Op, Sequence, Trace, refs

_OWN = "self."


def spell_conditional(op: Op, trace: Trace, name: Name, functions: tuple[str, ...]) -> str:
    """The expression of an op that is `torch.cond`; `functions` are the names of its branches."""
    assert op.target == COND, op
    given = (name(value) for value in operands(op) if not is_own(trace, value))
    return f"torch.cond({spell_argument(op.args[0], name)}, {', '.join(functions)}, [{', '.join(given)}])"


def operands(op: Op) -> Iterator[int]:
    """What the branches of a `torch.cond` are given."""
    assert isinstance(op.args[-1], Sequence), op
    return refs(op.args[-1])


def branches(op: Op) -> tuple[Branch, ...]:
    """The branches of an op, which only `torch.cond` has."""
    return tuple(argument for argument in op.args if isinstance(argument, Branch))


def is_own(trace: Trace, value: int) -> bool:
    """Whether a value is the module's own, a parameter or a buffer."""
    return trace.values[value].expression.startswith(_OWN)
