"""Whether the JSON of a saved trace holds together, before a trace is made of it.

A file can be edited, merged or cut by hand. What is let through here is relied on everywhere: indices point at what
is there, calls nest, values are made before they are used, texts are what generated code may hold. Tables and columns
are looked at as wholes, since a check of each op would cost as much as reading it.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from streamsched.dsl.trace.model import NONE
from streamsched.dsl.trace.wellformed import expressions, identifiers, lines, sizes

PRODUCER, EXPRESSION, SAME_OBJECT = 5, 6, 9
"""Columns of values."""

BEGIN, END = 5, 6
"""Columns of calls."""


def check(document: dict[str, Any]) -> None:
    """Raise ValueError, TypeError, KeyError or IndexError where a document does not hold together."""
    tables = Tables.of(document)
    _texts(document)
    _places(document, tables)
    _dims(document, tables)
    _arguments(document, tables)
    _values(document["values"], tables)
    _calls(document, tables)
    _ops(document, tables)
    _rest(document, tables)


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of a document that its columns refer to, and how many there are of what they hold."""

    strings: list[str]
    numbers: list[list[int | str]]
    arguments: list[list[Any]]
    ops: int
    values: int
    storages: int
    reach: list[int]  # by argument: the last op that makes a value in it

    @staticmethod
    def of(document: dict[str, Any]) -> Tables:
        """Those of a document; raises where they are none."""
        strings, numbers, arguments = document["strings"], document["numbers"], document["arguments"]
        assert_lists(strings, numbers, arguments, *numbers, *arguments)
        for key in ("ops", "values", "calls"):
            same_length(document[key])
        lines(strings)
        ops, values = len(document["ops"][0]), len(document["values"][0])
        return Tables(strings, numbers, arguments, ops, values, len(document["storages"]), [])

    def texts(self, column: Iterable[int]) -> set[str]:
        """The texts that a column of numbers stands for, each once."""
        found = set(column)
        indices(found, len(self.strings))
        return {self.strings[index] for index in found}

    def rows(self, column: Iterable[int]) -> Iterator[list[int | str]]:
        """The tuples of numbers that a column stands for, each once."""
        found = set(column)
        indices(found, len(self.numbers))
        return (self.numbers[index] for index in found)

    def trees(self, indices_: Collection[int]) -> None:
        """Raise where one of these is no argument."""
        indices(indices_, len(self.arguments))


def assert_lists(*those: Any) -> None:
    """Raise TypeError unless each is a list."""
    if not {*map(type, those)} <= {list}:
        raise TypeError("no list")


def same_length(columns: list[list[Any]]) -> None:
    """Raise unless these are columns of one table."""
    assert_lists(columns, *columns)
    if len({*map(len, columns)}) != 1:
        raise ValueError("columns of different lengths")


def integers(column: Collection[Any], least: int = -sys.maxsize, most: int = sys.maxsize) -> None:
    """Raise TypeError unless all are whole numbers, ValueError unless they lie from `least` to `most`."""
    if not column:
        return
    if {*map(type, column)} != {int}:
        raise TypeError("no whole number")
    if min(column) < least or max(column) > most:
        raise ValueError("out of range")


def indices(column: Collection[Any], length: int, least: int = 0) -> None:
    """Raise unless all are indices of a list of that length; `NONE` may be among them where `least` is that."""
    integers(column, least, length - 1)


def _flat(rows: Iterable[Iterable[Any]]) -> list[Any]:
    return list(chain.from_iterable(rows))


def _texts(d: dict[str, Any]) -> None:
    """The texts that stand in no table."""
    given = [d["torch_version"], d["python_version"], d["root"], d["digest"]]
    lines([*given, *d["determined_by"], *d["warnings"], *_flat(d.get("told", ()))])
    lines(name for name, _, _ in d["storages"])
    lines(_flat(d["sources"]))
    if any(len(row) != 5 for row in d["sources"]):
        raise ValueError("no source")
    expressions({default for _, _, default in d["parameters"] if default})
    identifiers(name for name, _, _ in d["parameters"])
    expressions(expression for expression, _ in d.get("objects", ()))
    lines(name for _, name in d.get("objects", ()))
    expressions(expression for expression, _ in d.get("constants", ()))
    lines(_flat(d.get("constants", ())))
    if d.get("scope"):
        glob, name, instances = d["scope"]
        assert_lists(instances)
        lines([glob, name, *instances])


def _places(d: dict[str, Any], tables: Tables) -> None:
    """Positions in the user's source, and what refers to them."""
    for file, function, line, column, end_line, end_column in (*d["positions"], *(row[0] for row in d["statements"])):
        integers((line, column, end_line, end_column), 1)
        indices((file, function), len(tables.strings))
        if (end_line, end_column) < (line, column):
            raise ValueError("no position")
    assert_lists(*d["stacks"], *(binds for _, binds, _ in d["statements"]))
    indices(_flat(d["stacks"]), len(d["positions"]))
    lines(text for _, binds, text in d["statements"] for text in (*binds, text))


def _dims(d: dict[str, Any], tables: Tables) -> None:
    """Named dims, and the sizes that depend on them."""
    dims = d.get("dims", ())
    expressions(expression for _, expression, _, _ in dims)
    integers([size for _, _, *bounds in dims for size in bounds if size is not None], 0)
    known = frozenset(identifiers(name for name, *_ in dims))
    sizes([*_flat(tables.numbers), *(nbytes for _, _, nbytes in d["storages"])], known)


def _arguments(d: dict[str, Any], tables: Tables) -> None:
    """The trees of arguments: each row refers to rows before it, so that none holds itself."""
    producer = d["values"][PRODUCER]
    indices(producer, tables.ops, NONE)
    by_tag: dict[int, list[Any]] = {tag: [row[1] for row in tables.arguments if row[0] == tag] for tag in (0, 1, 5)}
    integers(by_tag[0], 0)
    expressions(by_tag[1])
    lines(by_tag[5])
    made_by = [*producer, *[tables.ops] * (max(by_tag[0], default=0) + 1 - len(producer))]  # a branch has its own
    reach = tables.reach
    for number, row in enumerate(tables.arguments):
        tag = row[0]
        if tag == 0:
            reach.append(made_by[row[1]])
        elif tag in (2, 3, 4):
            items = _items(row, tag)
            indices(items, number)
            reach.append(max(map(reach.__getitem__, items), default=NONE))
        elif tag == 6:
            _branch(row, number, tables)
            reach.append(NONE)
        elif tag in (1, 5):
            reach.append(NONE)
        else:
            raise ValueError("no argument")


def _items(row: list[Any], tag: int) -> list[int]:
    items: list[int] = row[-1]
    assert_lists(items)
    if tag == 2:
        if row[1] == "slice" and len(items) != 3:
            raise ValueError("no slice")
        return items
    names = row[1] if tag == 3 else row[2]
    assert_lists(names)
    if len(names) != len(items):
        raise ValueError("keys without items")
    if tag == 3:
        expressions(names)
    else:
        lines((row[1],))
        identifiers(names)
    return items


def _branch(row: list[Any], number: int, tables: Tables) -> None:
    """A function that an op calls: its columns are rows here, and refer to the same tables."""
    _, name, parameters, values, ops, result = row
    lines((name,))
    integers((parameters,), 0, len(values))
    indices([result, *(index for op in ops for index in (*op[3], *op[4][1::2], op[5]))], number)
    own = [list(column) for column in zip(*values, strict=True)] or [[]] * 10
    made = [list(column) for column in zip(*ops, strict=True)] or [[]] * 15
    _value_columns(own, tables, len(ops), len(values), tables.storages + len(ops) + len(values))
    _op_columns(made, tables)


def _values(columns: list[Any], tables: Tables) -> None:
    _value_columns(columns, tables, tables.ops, tables.values, tables.storages)
    _no_cycles(columns[SAME_OBJECT])
    for number, (producer, expression) in enumerate(zip(columns[PRODUCER], columns[EXPRESSION], strict=True)):
        if (producer == NONE) != bool(tables.strings[expression]):
            raise ValueError(f"value {number} is neither made nor given")


def _value_columns(columns: list[Any], tables: Tables, ops: int, values: int, storages: int) -> None:
    name, lies, dtype, shape, stride, producer, expression, local, inner, same, *later = columns
    if len(identifiers(name)) != len(name):
        raise ValueError("two values of one name")
    indices(_flat(tables.rows(lies)), storages)
    if not all(tables.rows(lies)):
        raise ValueError("a value lies nowhere")
    identifiers(tables.texts(dtype))
    indices(shape, len(tables.numbers))
    indices(stride, len(tables.numbers))
    indices(producer, ops, NONE)
    indices(same, values, NONE)
    expressions(tables.texts(expression) - {""})
    identifiers(tables.texts(chain(local, inner, *map(_flat, later))) - {""})


def _no_cycles(same: list[int]) -> None:
    """Raise where a value is, over others, the same object as itself."""
    for start, other in enumerate(same):
        steps = 0
        while other != NONE and other >= start:  # else it was looked at before
            steps += 1
            if other == start or steps > len(same):
                raise ValueError("an object of its own")
            other = same[other]


def _ops(d: dict[str, Any], tables: Tables) -> None:
    columns = d["ops"]
    _op_columns(columns, tables)
    args, kwargs, result, call, stack, statement = (columns[at] for at in (3, 4, 5, 8, 9, 10))
    indices(call, len(d["calls"][0]))
    indices(stack, len(d["stacks"]), NONE)
    indices(statement, len(d["statements"]), NONE)
    begin, end = d["calls"][BEGIN], d["calls"][END]
    if not all(begin[inner] <= op < end[inner] for op, inner in enumerate(call)):
        raise ValueError("an op outside of its call")
    reach = tables.reach
    for op, (given, named) in enumerate(zip(args, kwargs, strict=True)):
        if any(reach[tree] >= op for tree in (*given, *named[1::2])):
            raise ValueError("a value is used before it is made")
    _results(result, d["values"][PRODUCER], tables)


def _op_columns(columns: list[Any], tables: Tables) -> None:
    """What holds of the ops of a trace, and of those of a branch."""
    name, target, kind, args, kwargs, result, reads, writes, _, _, _, visit, random, host_sync, contexts = columns
    if len(identifiers(name)) != len(name):
        raise ValueError("two ops of one name")
    if not all(len(parts) > 1 and all(map(str.isidentifier, parts)) for parts in _split(tables.texts(target))):
        raise ValueError("no operator")
    tables.texts(kind)
    tables.trees([*_flat(args), *result])
    _named(kwargs, tables)
    indices(_flat(tables.rows(chain(reads, writes))), tables.storages)
    integers(visit, 0)
    integers([*random, *host_sync], 0, 1)
    expressions(tables.texts(_flat(contexts)))


def _split(texts: Iterable[str]) -> Iterator[list[str]]:
    return (text.split(".") for text in texts)


def _named(kwargs: list[list[int]], tables: Tables) -> None:
    for row in kwargs:
        if row:
            identifiers(tables.texts(row[::2]))
            tables.trees(row[1::2])


def _results(result: list[int], producer: list[int], tables: Tables) -> None:
    """Each op makes what its result holds, and nothing else is made."""
    made: dict[int, int] = {}
    for op, tree in enumerate(result):
        row = tables.arguments[tree]
        if row[0] == 0:
            made[row[1]] = op
        else:
            made.update(dict.fromkeys(_refs(tree, tables.arguments), op))
    if made != {value: op for value, op in enumerate(producer) if op != NONE}:
        raise ValueError("what an op makes is not its result")


def _refs(tree: int, arguments: list[list[Any]]) -> Iterator[int]:
    row = arguments[tree]
    if row[0] == 0:
        yield row[1]
    elif row[0] in (2, 3, 4):
        for item in row[-1]:
            yield from _refs(item, arguments)


def _calls(d: dict[str, Any], tables: Tables) -> None:
    """The calls of modules: each lies inside of its parent, which comes before it."""
    columns = d["calls"]
    (path, occurrence, accessor, cls, parent, begin, end, args, kwargs, result, compiling,
     *later) = columns  # fmt: skip
    lines(tables.texts(chain(path, cls)))
    expressions({f"self{text}" for text in tables.texts(accessor)})
    integers(occurrence, 0)
    indices(parent, len(parent), NONE)
    integers([*begin, *end], 0, tables.ops)
    tables.trees([*_flat(args), *result])
    _named(kwargs, tables)
    integers([*compiling, *(later[0] if later else ())], 0, 1)
    for texts in later[1:]:
        expressions(tables.texts(_flat(texts)))
    if begin[0] != 0 or end[0] != tables.ops:
        raise ValueError("calls[0] is not the whole")
    reach = tables.reach
    for call, (outer, first, last) in enumerate(zip(parent, begin, end, strict=True)):
        if first > last or outer >= call or (outer == NONE) != (call == 0):
            raise ValueError("a call without a place")
        if call and not begin[outer] <= first <= last <= end[outer]:
            raise ValueError("a call outside of its parent")
        if any(reach[tree] >= first for tree in (*args[call], *kwargs[call][1::2])):
            raise ValueError("a call is given what is not made yet")
        if reach[result[call]] >= last:
            raise ValueError("a call returns what is not made yet")


def _rest(d: dict[str, Any], tables: Tables) -> None:
    """What forward() is given, and what it gives back."""
    producer = d["values"][PRODUCER]
    indices(d["inputs"], tables.values)
    if any(producer[value] != NONE for value in d["inputs"]):
        raise ValueError("an input that is made")
    results = [d["result"]]
    for target, value, calls, since, until, before in d.get("assignments", ()):
        expressions((target,))
        lines((before,))
        results.append(value)
        indices(calls, len(d["calls"][0]))
        integers((since, until), 0, tables.ops)
    tables.trees(results)
    if any(tables.reach[tree] >= tables.ops for tree in results):
        raise ValueError("a value of a branch is returned")
