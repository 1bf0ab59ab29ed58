"""A trace as JSON in which everything that repeats is written once and referred to by number.

There is one list for each field of the dataclasses, so that their constructors can be mapped over the columns. The text
depends on the trace alone.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

from streamsched.dsl.trace.model import (
    Argument,
    Assignment,
    Branch,
    Dim,
    Instance,
    Literal,
    Mapping,
    ModuleCall,
    Op,
    Position,
    Ref,
    Sequence,
    Trace,
    Value,
)

FORMAT = "streamsched trace"
VERSION = 1


class _Table:
    """Items numbered as they are first met."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self._index: dict[Any, int] = {}

    def add(self, key: Any, row: Callable[[], Any]) -> int:
        """The number of the item `key`, written as `row()` says."""
        index = self._index.get(key)
        if index is None:
            written = row()  # adds the items inside first
            index = self._index[key] = len(self.rows)
            self.rows.append(written)
        return index


class _Writer:
    def __init__(self) -> None:
        self.strings = _Table()
        self.arguments = _Table()
        self.numbers = _Table()

    def string(self, text: str) -> int:
        return self.strings.add(text, lambda: text)

    def ints(self, numbers: tuple[Dim, ...]) -> int:
        return self.numbers.add(numbers, lambda: list(numbers))

    def argument(self, argument: Argument) -> int:
        return self.arguments.add(argument, lambda: self._argument(argument))

    def _argument(self, argument: Argument) -> list[Any]:
        if isinstance(argument, Ref):
            return [0, argument.value]
        if isinstance(argument, Literal):
            return [1, argument.text]
        if isinstance(argument, Sequence):
            return [2, argument.kind, [self.argument(item) for item in argument.items]]
        if isinstance(argument, Mapping):
            return [3, list(argument.keys), [self.argument(item) for item in argument.items]]
        if isinstance(argument, Instance):
            return [4, argument.type, list(argument.fields), [self.argument(item) for item in argument.items]]
        if isinstance(argument, Branch):
            return [6, *self._branch(argument)]
        return [5, argument.text]

    def _branch(self, branch: Branch) -> list[Any]:
        values = [self.value(value)[:-1] for value in branch.values]  # no local of the scope's forward holds them
        ops = [self.op(op) for op in branch.ops]
        return [branch.name, branch.parameters, values, ops, self.argument(branch.result)]

    def named(self, kwargs: tuple[tuple[str, Argument], ...]) -> list[Any]:
        return [part for name, argument in kwargs for part in (self.string(name), self.argument(argument))]

    def value(self, v: Value) -> list[Any]:
        head = [v.name, self.ints(v.storages), self.string(v.dtype), self.ints(v.shape), self.ints(v.stride)]
        names = [self.string(v.expression), self.string(v.local), self.string(v.inner)]
        return [*head, v.producer, *names, v.same_object, [self.string(name) for name in v.aliases]]

    def op(self, op: Op) -> list[Any]:
        call = [[self.argument(arg) for arg in op.args], self.named(op.kwargs), self.argument(op.result)]
        effects = [self.ints(op.reads), self.ints(op.writes)]
        origin = [op.call, op.stack, op.statement, op.visit]
        flags = [int(op.random), int(op.host_sync), [self.string(context) for context in op.contexts]]
        return [op.name, self.string(op.target), self.string(op.kind.value), *call, *effects, *origin, *flags]

    def call(self, c: ModuleCall) -> list[Any]:
        head = [
            self.string(c.path),
            c.occurrence,
            self.string(c.accessor),
            self.string(c.type),
            c.parent,
            c.begin,
            c.end,
        ]
        body = [[self.argument(arg) for arg in c.args], self.named(c.kwargs), self.argument(c.result)]
        flags = [self.string(text) for flag in c.flags for text in flag]
        constants = [self.string(text) for constant in c.constants for text in constant]
        return [*head, *body, int(c.branches_on_compiling), int(c.hooked), flags, constants]

    def assignment(self, a: Assignment) -> list[Any]:
        return [a.target, self.argument(a.value), a.calls, a.since, a.until, a.before]

    def position(self, p: Position) -> list[Any]:
        return [self.string(p.file), self.string(p.function), p.line, p.column, p.end_line, p.end_column]


def by_field(rows: list[list[Any]], cls: Any) -> list[Any]:
    """Rows of fields as one list for each field: far faster to read."""
    return list(zip(*rows, strict=True)) if rows else [[] for _ in dataclasses.fields(cls)]


def _without_empty(columns: list[Any], optional: int = 1) -> list[Any]:
    """The columns of calls or values, as many of the last `optional` left out as say nothing."""
    if not optional or any(columns[-1]):
        return columns
    return _without_empty(columns[:-1], optional - 1)


def encode(trace: Trace) -> str:
    """A trace as JSON text."""
    w = _Writer()
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "determined_by": trace.determined_by,
        "torch_version": trace.torch_version,
        "python_version": trace.python_version,
        "root": trace.root,
        "parameters": [[p.name, p.kind.value, p.default] for p in trace.parameters],
        "inputs": trace.inputs,
        "values": _without_empty(by_field([w.value(value) for value in trace.values], Value)),
        "ops": by_field([w.op(op) for op in trace.ops], Op),
        "storages": [[s.name, s.kind.value, s.nbytes] for s in trace.storages],
        "calls": _without_empty(by_field([w.call(call) for call in trace.calls], ModuleCall), 2),
        "result": w.argument(trace.result),
        "statements": [[w.position(s.position), s.binds, s.text] for s in trace.statements],
        "positions": [w.position(position) for position in trace.positions],
        "stacks": trace.stacks,
        "sources": [[key, s.path, s.digest, s.package, s.version] for key, s in trace.sources],
        "warnings": trace.warnings,
        "digest": trace.digest,
        **({"assignments": [w.assignment(a) for a in trace.assignments]} if trace.assignments else {}),
        **({"scope": [s.glob, s.class_name, s.instances]} if (s := trace.scope) else {}),
        **({"objects": trace.objects} if trace.objects else {}),
        **({"constants": trace.constants} if trace.constants else {}),
        **({"dims": [[d.name, d.expression, d.minimum, d.maximum] for d in trace.dims]} if trace.dims else {}),
        **({"told": trace.told} if trace.told else {}),
        "strings": w.strings.rows,
        "numbers": w.numbers.rows,
        "arguments": w.arguments.rows,
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))
