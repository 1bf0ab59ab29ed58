"""The branches of `torch.cond` as functions in the generated forward, right before the call.

They are called as the user called them. Inside, a value has the name of its parameter, or of the op that makes it.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from streamsched.codegen.forward.device import located, located_expression
from streamsched.codegen.forward.names import RESERVED, Names, identifier, source_names
from streamsched.codegen.forward.nodes import Block, Function, Line, Node
from streamsched.codegen.forward.trees import spell_tree, target
from streamsched.codegen.spell.conditional import branches, is_own, operands, spell_conditional
from streamsched.codegen.spell.spelling import spell_call
from streamsched.dsl.trace.model import COND, NONE, Branch, Op, Storage, StorageKind, Trace, refs

_RESERVED = frozenset((*RESERVED, *dir(builtins)))


@dataclass(frozen=True, slots=True)
class Branches:
    """The functions to define before an op, by op."""

    by_op: dict[int, tuple[Function, ...]]

    def functions(self, op: int) -> tuple[Function, ...]:
        """What to define before an op."""
        return self.by_op.get(op, ())

    def names(self, op: int) -> tuple[str, ...]:
        """What the branches of an op are called."""
        return tuple(function.name for function in self.by_op[op])

    def texts(self) -> Iterator[str]:
        """Every line in the functions."""
        for functions in self.by_op.values():
            yield from _texts(functions)


def define(trace: Trace, names: Names) -> Branches:
    """The functions of all branches in `trace`."""
    taken = {*_RESERVED, *names.values.values(), *names.streams, *names.events}
    taken.update(source_names(trace))
    taken.update(name for named in (trace.parameters, trace.dims) for name in (each.name for each in named))
    return Branches({index: _functions(op, trace, taken) for index, op in enumerate(trace.ops) if op.target == COND})


def _functions(op: Op, trace: Trace, taken: set[str]) -> tuple[Function, ...]:
    """The branches of an op; their names, which are not among `taken`, are so from then on."""
    own = [
        located_expression(trace.values[value].expression, trace) if is_own(trace, value) else ""
        for value in operands(op)
    ]
    found: list[Function] = []
    for branch in branches(op):
        name = _free(branch.name, taken)
        taken.add(name)
        found.append(_Writer(branch, trace, taken).function(name, own))
    return tuple(found)


def _free(name: str, taken: set[str]) -> str:
    found = name
    number = 0
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    return found


@dataclass
class _Writer:
    branch: Branch
    around: Trace
    functions: set[str]  # what no function may be called
    names: list[str] = field(default_factory=list)  # by value

    def __post_init__(self) -> None:
        # A branch without parameters may name what is around it.
        around = {dim.name for dim in self.around.dims} if self.branch.parameters else self.functions
        self.taken = {*_RESERVED, *around}
        self.trace = _as_trace(self.branch, self.around)
        given = (refs(argument) for op in self.trace.ops for argument in (*op.args, *(each for _, each in op.kwargs)))
        self.used = {value for values in (*given, refs(self.branch.result)) for value in values}

    def function(self, name: str, own: Sequence[str]) -> Function:
        """The branch as a function. `own` are the expressions of the operands that are not passed."""
        for value, expression in zip(self.branch.values[: self.branch.parameters], own, strict=True):
            self.names.append(expression or self._fresh(value.name))
        parameters = tuple(name for name, expression in zip(self.names, own, strict=True) if not expression)
        lines = [(op.contexts, node) for op in self.trace.ops for node in self._op(op)]
        result = spell_tree(self.branch.result, self._name)
        _, last = lines[-1] if lines else ((), None)
        if isinstance(last, Line) and last.text.startswith(f"{result} = ") and not lines[-1][0]:
            lines.pop()
            result = last.text.removeprefix(f"{result} = ")
        return Function(name, parameters, (*_blocks(lines, 0), Line(f"return {result}")))

    def _name(self, value: int) -> str:
        return self.names[value]

    def _fresh(self, wanted: str) -> str:
        name = _free(identifier(wanted), self.taken)
        self.taken.add(name)
        return name

    def _op(self, op: Op) -> tuple[Node, ...]:
        functions: tuple[Function, ...] = ()
        if op.target == COND:
            functions = _functions(op, self.trace, self.functions)
            self.taken.update(function.name for function in functions)
        if functions:
            text = spell_conditional(op, self.trace, self._name, tuple(function.name for function in functions))
        else:
            text = spell_call(op, self.trace, self._name)
        for value in refs(op.result):
            same = self.branch.values[value].same_object
            self.names.append(self.names[same] if same != NONE else self._fresh(self.branch.values[value].name))
        bound = target(op.result, self._wanted)
        assert bound is not None, op
        left, path = bound
        return (*functions, Line(f"{left} = {text}{path}" if left else text))

    def _wanted(self, value: int) -> str | None:
        """The name to bind a result to; None where nobody asks for it, or it has one already."""
        fresh = self.branch.values[value].same_object == NONE
        return self.names[value] if fresh and value in self.used else None


def _as_trace(branch: Branch, around: Trace) -> Trace:
    """A branch as the trace that its ops are spelled by."""
    storage = Storage("", StorageKind.OP, 0)
    ops = branch.ops
    if not branch.parameters:  # no tensor of its own tells the device
        ops = tuple(replace(op, args=tuple(located(argument, around) for argument in op.args)) for op in ops)
    inputs = tuple(range(branch.parameters))
    return replace(around, ops=ops, values=branch.values, inputs=inputs, storages=(storage,) * len(branch.values))


def _blocks(lines: Sequence[tuple[tuple[str, ...], Node]], depth: int) -> list[Node]:
    """The nodes, in blocks for their contexts beyond `depth`."""
    nodes: list[Node] = []
    for context, run in groupby(lines, lambda line: line[0][depth : depth + 1]):
        inside = list(run)
        nodes += [Block(context, tuple(_blocks(inside, depth + 1)))] if context else [node for _, node in inside]
    return nodes


def _texts(nodes: Sequence[Node]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, Line):
            yield node.text
        elif isinstance(node, Block | Function):
            yield from _texts(node.body)
