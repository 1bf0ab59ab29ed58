"""Saved traces: gzipped JSON in which everything that repeats is written once and referred to by number.

The standard library alone reads it, fast: there is one list for each field of the dataclasses, so that their
constructors can be mapped over the columns. The bytes depend on the trace alone.
"""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamsched.dsl.diagnostic import Diagnostic, Span
from streamsched.dsl.garbage import collector_off
from streamsched.dsl.trace import rules
from streamsched.dsl.trace.model import (
    NONE,
    Argument,
    Assignment,
    Branch,
    Dim,
    Instance,
    Literal,
    Mapping,
    ModuleCall,
    NamedDim,
    Op,
    Opaque,
    OpKind,
    Parameter,
    ParameterKind,
    Position,
    Ref,
    Scope,
    Sequence,
    Source,
    Statement,
    Storage,
    StorageKind,
    Trace,
    Value,
)

FORMAT = "streamsched trace"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Loaded:
    """A trace read from a file; or none, and why."""

    trace: Trace | None
    diagnostics: tuple[Diagnostic, ...]


def save(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Write a trace. A reader sees the old file or the new one, never a part. Raises OSError."""
    target = Path(path)
    beside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        beside.write_bytes(gzip.compress(encode(trace).encode(), 9, mtime=0))
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


def load(path: str | os.PathLike[str], span: Span) -> Loaded:
    """Read a trace; what is wrong with the file is said at `span`."""
    try:
        with collector_off():
            document = json.loads(gzip.decompress(Path(path).read_bytes()))
    except OSError as error:
        reason = error.strerror or "it is not gzipped"
        return Loaded(None, (rules.unreadable_trace(span, f"the trace {path} cannot be read: {reason}"),))
    except (EOFError, zlib.error):
        return Loaded(None, (rules.unreadable_trace(span, f"the trace {path} is cut short or damaged"),))
    except (ValueError, RecursionError):
        return Loaded(None, (rules.unreadable_trace(span, f"the trace {path} holds no JSON"),))
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        return Loaded(None, (rules.unreadable_trace(span, f"{path} holds no trace"),))
    version = document.get("version")
    if version != VERSION:
        message = f"the trace {path} has format {version}; this release reads format {VERSION}"
        return Loaded(None, (rules.trace_of_other_version(span, message),))
    try:
        with collector_off():
            return Loaded(_Reader(document).trace(), ())
    except (AssertionError, KeyError, IndexError, TypeError, ValueError):
        return Loaded(None, (rules.unreadable_trace(span, f"the trace {path} is damaged"),))


def digest(trace: Trace) -> str:
    """SHA-256 of a trace's content in hex: what is the same however the model's source is laid out, and wherever it
    was traced."""
    nowhere = Position("", "", 1, 1, 1, 1)
    content = dataclasses.replace(
        trace,
        determined_by=(),
        torch_version="",
        python_version="",
        ops=tuple(dataclasses.replace(op, stack=NONE) for op in trace.ops),
        statements=tuple(Statement(nowhere, s.binds, "") for s in trace.statements),
        positions=(),
        stacks=(),
        sources=(),
        warnings=(),
        told=(),
        digest="",
    )
    return hashlib.sha256(encode(content).encode()).hexdigest()


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
        return [*head, *body, int(c.branches_on_compiling), int(c.hooked), flags]

    def assignment(self, a: Assignment) -> list[Any]:
        return [a.target, self.argument(a.value), a.calls, a.since, a.until, a.before]

    def position(self, p: Position) -> list[Any]:
        return [self.string(p.file), self.string(p.function), p.line, p.column, p.end_line, p.end_column]


def _columns(rows: list[list[Any]], cls: Any) -> list[Any]:
    """Rows of fields as one list for each field: far faster to read."""
    return list(zip(*rows, strict=True)) if rows else [[] for _ in dataclasses.fields(cls)]


def _without_empty(columns: list[Any]) -> list[Any]:
    """The columns of calls or values, the last left out where it says nothing."""
    return columns if any(columns[-1]) else columns[:-1]


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
        "values": _without_empty(_columns([w.value(value) for value in trace.values], Value)),
        "ops": _columns([w.op(op) for op in trace.ops], Op),
        "storages": [[s.name, s.kind.value, s.nbytes] for s in trace.storages],
        "calls": _without_empty(_columns([w.call(call) for call in trace.calls], ModuleCall)),
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


class _Reader:
    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self._strings: list[str] = document["strings"]
        self._numbers: list[tuple[int, ...]] = [tuple(numbers) for numbers in document["numbers"]]
        self._arguments: list[Argument] = []
        for row in document["arguments"]:
            self._arguments.append(self._argument(row))

    def _argument(self, row: list[Any]) -> Argument:
        tag = row[0]
        if tag == 0:
            return Ref(row[1])
        if tag == 1:
            return Literal(row[1])
        if tag == 2:
            return Sequence(row[1], self._items(row[2]))
        if tag == 3:
            return Mapping(tuple(row[1]), self._items(row[2]))
        if tag == 4:
            return Instance(row[1], tuple(row[2]), self._items(row[3]))
        if tag == 6:
            name, parameters, values, ops, result = row[1:]
            made = tuple(self._values(_columns(values, Value))), tuple(self._ops(_columns(ops, Op)))
            return Branch(name, parameters, *made, self._arguments[result])
        return Opaque(row[1])

    def _items(self, indices: list[int]) -> tuple[Argument, ...]:
        arguments = self._arguments
        return tuple([arguments[index] for index in indices])

    def _named(self, row: list[int]) -> tuple[tuple[str, Argument], ...]:
        if not row:
            return ()
        pairs = zip(row[::2], row[1::2], strict=True)
        return tuple([(self._strings[name], self._arguments[argument]) for name, argument in pairs])

    def _values(self, columns: list[Any]) -> Iterator[Value]:
        string, numbers = self._strings.__getitem__, self._numbers.__getitem__
        name, storages, dtype, shape, stride, producer, expression, local, inner, same, *later = columns
        layout = map(string, dtype), map(numbers, shape), map(numbers, stride)
        names = map(string, expression), map(string, local), map(string, inner)
        aliases = map(self._texts, later[0] if later else [()] * len(name))
        return map(Value, name, map(numbers, storages), *layout, producer, *names, same, aliases)

    def _ops(self, columns: list[Any]) -> Iterator[Op]:
        string, numbers, argument = self._strings.__getitem__, self._numbers.__getitem__, self._arguments.__getitem__
        (name, target, kind, args, kwargs, result, reads, writes, call, stack, statement, visit, random, host_sync,
         contexts) = columns  # fmt: skip
        head = name, map(string, target), map(OpKind, map(string, kind))
        tree = map(self._items, args), map(self._named, kwargs), map(argument, result)
        effects = map(numbers, reads), map(numbers, writes)
        flags = map(bool, random), map(bool, host_sync), map(self._texts, contexts)
        return map(Op, *head, *tree, *effects, call, stack, statement, visit, *flags)

    def _calls(self) -> Iterator[ModuleCall]:
        string, argument = self._strings.__getitem__, self._arguments.__getitem__
        (path, occurrence, accessor, cls, parent, begin, end, args, kwargs, result, compiling,
         *later) = self._document["calls"]  # fmt: skip
        hooked = later[0] if later else [0] * len(path)  # traces of the first release have no such column
        flags = later[1] if len(later) > 1 else [()] * len(path)
        head = map(string, path), occurrence, map(string, accessor), map(string, cls)
        tree = map(self._items, args), map(self._named, kwargs), map(argument, result)
        asked = map(bool, compiling), map(bool, hooked), map(self._pairs, flags)
        return map(ModuleCall, *head, parent, begin, end, *tree, *asked)

    def _pairs(self, indices: list[int]) -> tuple[tuple[str, str], ...]:
        texts = self._texts(indices)
        return tuple(zip(texts[::2], texts[1::2], strict=True))

    def _texts(self, indices: list[int]) -> tuple[str, ...]:
        return tuple([self._strings[index] for index in indices])

    def _assignment(self, target: str, value: int, calls: list[int], since: int, until: int, before: str) -> Assignment:
        return Assignment(target, self._arguments[value], tuple(calls), since, until, before)

    def _position(self, row: list[Any]) -> Position:
        file, function, *place = row
        return Position(self._strings[file], self._strings[function], *place)

    def trace(self) -> Trace:
        """The trace that the document holds."""
        d = self._document
        return Trace(
            determined_by=tuple(d["determined_by"]),
            torch_version=d["torch_version"],
            python_version=d["python_version"],
            root=d["root"],
            parameters=tuple(Parameter(name, ParameterKind(kind), default) for name, kind, default in d["parameters"]),
            inputs=tuple(d["inputs"]),
            result=self._arguments[d["result"]],
            ops=tuple(self._ops(d["ops"])),
            values=tuple(self._values(d["values"])),
            storages=tuple([Storage(name, StorageKind(kind), nbytes) for name, kind, nbytes in d["storages"]]),
            calls=tuple(self._calls()),
            statements=tuple(Statement(self._position(at), tuple(binds), text) for at, binds, text in d["statements"]),
            positions=tuple([self._position(row) for row in d["positions"]]),
            stacks=tuple([tuple(stack) for stack in d["stacks"]]),
            sources=tuple((key, Source(*fields)) for key, *fields in d["sources"]),
            warnings=tuple(d["warnings"]),
            digest=d["digest"],
            scope=_scope(d.get("scope")),
            objects=tuple((expression, name) for expression, name in d.get("objects", ())),
            constants=tuple((expression, text) for expression, text in d.get("constants", ())),
            dims=tuple(NamedDim(*fields) for fields in d.get("dims", ())),
            assignments=tuple(self._assignment(*row) for row in d.get("assignments", ())),
            told=tuple((code, text) for code, text in d.get("told", ())),
        )


def _scope(row: list[Any] | None) -> Scope | None:
    return Scope(row[0], row[1], tuple(row[2])) if row else None
