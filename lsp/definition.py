"""Where something is defined: a group or a stream in the schedule, what a selector matches in the model's source."""

from __future__ import annotations

import os

from streamsched.dsl.diagnostic import Span
from streamsched.dsl.globs import compile_glob
from streamsched.dsl.syntax.tree import (
    FakesStatement,
    InputsFromStatement,
    LineSelector,
    ModelStatement,
    ModuleSelector,
    Selector,
    ValueSelector,
)
from streamsched.dsl.trace.model import NONE, Position, Trace
from streamsched.lsp.document import Document
from streamsched.lsp.found import GroupName, StreamName, selector_at, statement_at, symbol_at
from streamsched.lsp.places import Place
from streamsched.lsp.source_files import names_in, on_disk

LIMIT = 50
"""How many places are named at most."""


def definitions(document: Document, place: Place) -> list[Span]:
    """Where what stands at `place` is defined; in files that exist."""
    symbol = symbol_at(document.symbols, place)
    if isinstance(symbol, StreamName):
        statement = document.streams.get(symbol.name.text)
        return [n.span for n in statement.names if n.text == symbol.name.text] if statement is not None else []
    if isinstance(symbol, GroupName):
        group = document.groups.get(symbol.name.text)
        return [group.name.span] if group is not None else []
    selector = selector_at(document.schedule, place)
    found = _of_selector(document, selector) if selector is not None else _of_reference(document, place)
    return [span for span in found[:LIMIT] if os.path.exists(span.file)]


def _of_selector(document: Document, selector: Selector) -> list[Span]:
    if isinstance(selector, LineSelector):
        file = os.path.join(document.file.base, selector.file)
        return [Span(file, selector.first, 1, selector.last + 1, 1)]
    if document.index is None:
        return []
    trace = document.index.trace
    ops = document.select(selector)
    if isinstance(selector, ValueSelector):
        statements = dict.fromkeys(trace.ops[op].statement for op in ops)
        positions = [trace.statements[statement].position for statement in statements if statement != NONE]
    elif isinstance(selector, ModuleSelector):
        positions = _forwards(trace, selector.glob)
    else:
        positions = [position for op in ops if (position := _innermost(trace, op)) is not None]
    return list(dict.fromkeys(_span(document, position) for position in positions))


def _span(document: Document, position: Position) -> Span:
    file = on_disk(document, position.file)
    return Span(file, position.line, position.column, position.end_line, position.end_column)


def _forwards(trace: Trace, glob: str) -> list[Position]:
    """Where the code of the modules begins to run ops; where torch's own code does, the place that calls it."""
    pattern = compile_glob(glob)
    found: dict[str, Position] = {}
    for call in trace.calls:
        if call.begin == call.end or call.type in found or not pattern.fullmatch(call.label):
            continue
        own = call.type.rpartition(":")[2] + "."
        frames = [trace.positions[index] for op in range(call.begin, call.end) for index in _stack(trace, op)]
        inside = [position for position in frames if position.function.startswith(own)]
        first = min(inside, key=lambda position: position.line) if inside else _innermost(trace, call.begin)
        if first is not None:
            found[call.type] = first
    return list(found.values())


def _stack(trace: Trace, op: int) -> tuple[int, ...]:
    stack = trace.ops[op].stack
    return () if stack == NONE else trace.stacks[stack]


def _innermost(trace: Trace, op: int) -> Position | None:
    stack = _stack(trace, op)
    return trace.positions[stack[-1]] if stack else None


def _of_reference(document: Document, place: Place) -> list[Span]:
    """Where a `model`, `inputs from` or `fakes` statement points."""
    statement = statement_at(document.schedule, place)
    base = document.file.base
    match statement:
        case ModelStatement(file, attribute) | InputsFromStatement(file, attribute):
            wanted = attribute.split(".")[0]
            lines = [line for name, line in names_in(base, file) if name == wanted] or [1]
            return [Span(os.path.join(base, file), lines[-1], 1, lines[-1], 1)]
        case FakesStatement(file):
            return [Span(os.path.join(base, file), 1, 1, 1, 1)]
    return []
