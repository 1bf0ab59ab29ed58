"""A trace from the JSON that `encode.py` writes. The standard library alone reads it, fast."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from streamsched.dsl.trace.encode import by_field
from streamsched.dsl.trace.model import (
    Argument,
    Assignment,
    Branch,
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


def decode(document: dict[str, Any]) -> Trace:
    """The trace that a document holds. Raises KeyError, IndexError, TypeError, ValueError or AssertionError where it
    is damaged."""
    return _Reader(document).trace()


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
            made = tuple(self._values(by_field(values, Value))), tuple(self._ops(by_field(ops, Op)))
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
        constants = later[2] if len(later) > 2 else [()] * len(path)
        head = map(string, path), occurrence, map(string, accessor), map(string, cls)
        tree = map(self._items, args), map(self._named, kwargs), map(argument, result)
        asked = map(bool, compiling), map(bool, hooked), map(self._pairs, flags), map(self._triples, constants)
        return map(ModuleCall, *head, parent, begin, end, *tree, *asked)

    def _pairs(self, indices: list[int]) -> tuple[tuple[str, str], ...]:
        texts = self._texts(indices)
        return tuple(zip(texts[::2], texts[1::2], strict=True))

    def _triples(self, indices: list[int]) -> tuple[tuple[str, str, str], ...]:
        texts = self._texts(indices)
        return tuple(zip(texts[::3], texts[1::3], texts[2::3], strict=True))

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
