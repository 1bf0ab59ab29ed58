"""The body of the generated forward: a tree of lines, comments and `with` blocks.

Consecutive statements of one side stream share a block, and what runs on `default` stands outside any. Records and
waits are in the block of the stream concerned.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import groupby

from streamsched.codegen.forward.branches import Branches
from streamsched.codegen.forward.device import located_context
from streamsched.codegen.forward.names import Names
from streamsched.codegen.forward.nodes import Block, Comment, Function, Line, Node
from streamsched.codegen.forward.statements import Statements
from streamsched.codegen.forward.unit import Unit, UnitKind
from streamsched.codegen.forward.units import common_prefix
from streamsched.codegen.targets import Target
from streamsched.dsl.program.steps import DEFAULT, Program
from streamsched.dsl.trace.model import NONE, Trace

_MAY_DIFFER = "asks whether it is being compiled; an eager run may issue other ops"


@dataclass(frozen=True, slots=True)
class _Entry:
    """A line with what decides where it stands. `stream` is NONE, `contexts` and `label` are None, where it is open."""

    node: Line | Comment | Function
    stream: int
    contexts: tuple[str, ...] | None = None
    label: tuple[str, str] | None = None  # the groups, the source statement
    deletes: tuple[str, ...] = ()
    ahead: bool = False  # it belongs to what follows it
    op: bool = False  # it issues ops


def layout(
    program: Program,
    trace: Trace,
    units: tuple[Unit, ...],
    statements: Statements,
    names: Names,
    branches: Branches,
    target: Target,
) -> tuple[Node, ...]:
    """Lay out the statements in blocks. The last unit is the return, which stands outside all."""
    asking = tuple(call.begin for call in trace.calls[1:] if call.branches_on_compiling)
    setter = _Setter(program, trace, names, branches, target, asking)
    late: dict[int, list[Unit]] = {}
    for place, statement in statements.postponed.items():
        late.setdefault(statement, []).append(units[place])
    entries: list[_Entry] = []
    for place, unit in enumerate(units[:-1]):
        if place not in statements.postponed:
            entries += setter.printed(unit, statements.texts[place], place)
        for postponed in late.get(place, ()):
            entries += setter.printed(postponed, "", place + 1)
        if statements.deletes[place]:
            gone = statements.deletes[place]
            entries.append(_Entry(Line(f"del {', '.join(gone)}"), NONE, deletes=gone))
    nodes: list[Node] = []
    for stream, segment in _segments(_merge_deletes(entries)):
        nodes += setter.segment(stream, segment, not nodes)
    return (*nodes, Line(statements.texts[-1]))


@dataclass(frozen=True, slots=True)
class _Setter:
    program: Program
    trace: Trace
    names: Names
    branches: Branches
    target: Target
    asking: tuple[int, ...]  # the first ops of the calls that ask whether they are being compiled

    def printed(self, unit: Unit, text: str, place: int) -> list[_Entry]:
        """The lines of one unit, with the names that things have at `place`."""
        if unit.kind is UnitKind.RECORD_STREAM:
            return [_Entry(self._record_stream(unit, place), unit.stream)]
        if unit.kind in (UnitKind.RECORD, UnitKind.WAIT):
            waits = unit.kind is UnitKind.WAIT
            return [_Entry(self._sync(unit, waits), unit.stream, ahead=waits)]
        if not text:
            return []
        if unit.kind is UnitKind.ASSIGN:
            return [_Entry(Line(text), NONE)]
        label = self._label(unit)
        nodes: list[Line | Function] = [*self.branches.functions(unit.op), *map(Line, text.split("\n"))]
        lines = [_Entry(node, unit.stream, unit.origin.contexts, label, op=True) for node in nodes]
        if unit.call != NONE and self._may_differ(unit.call):
            return [replace(lines[0], node=Comment(_MAY_DIFFER), op=False), *lines]
        return lines

    def _may_differ(self, call: int) -> bool:
        """Whether the user's Python under a call asks if it is being compiled."""
        outer = self.trace.calls[call]
        return any(outer.begin <= begin < outer.end for begin in self.asking)

    def segment(self, stream: int, entries: list[_Entry], first: bool) -> list[Node]:
        """The nodes of consecutive lines on one stream."""
        settled = self._commented(_settled(entries), stream)
        runs = any(entry.label is not None for entry in entries)
        if self.target.has_streams and stream == DEFAULT:
            return self._default(settled)
        body = self._nested(settled, 0)
        if not self.target.has_streams:
            said = runs and not (first and stream == DEFAULT)
            return [*([Comment(f"on {self.program.streams[stream].name}")] if said else []), *body]
        contexts = self.target.contexts(self.program.streams[stream], self.names.streams[stream])
        return [Block(contexts, tuple(body))]

    def _default(self, entries: list[_Entry]) -> list[Node]:
        """The nodes of lines on `default`. A limit of its cores is around ops, not around what stands at the edges."""
        contexts = self.target.contexts(self.program.streams[DEFAULT], "")
        ops = [place for place, entry in enumerate(entries) if entry.op]
        if not contexts or not ops:
            return self._nested(entries, 0)
        first, last = ops[0], ops[-1] + 1
        while first and isinstance(entries[first - 1].node, Comment):
            first -= 1
        inside = Block(contexts, tuple(self._nested(entries[first:last], 0)))
        return [*self._nested(entries[:first], 0), inside, *self._nested(entries[last:], 0)]

    def _record_stream(self, unit: Unit, place: int) -> Line | Comment:
        value = unit.uses[0]
        text = self.names.of(value, place) or self.trace.values[value].expression
        if not self.target.has_streams:
            return Comment(f"{text}.record_stream({self.names.streams[unit.user] or 'default'})")
        return Line(self.target.record_stream(text, self.names.streams[unit.user]))

    def _sync(self, unit: Unit, waits: bool) -> Line | Comment:
        event = self.names.events[unit.event]
        if not self.target.has_streams:
            verb = "wait for" if waits else "record"
            return Comment(f"{self.program.streams[unit.stream].name}: {verb} {event}")
        return Line(self.target.wait(event) if waits else self.target.record(event))

    def _label(self, unit: Unit) -> tuple[str, str]:
        """The groups and the source statement of what a unit stands for."""
        named = (self.program.groups[group].name for group in unit.origin.groups)
        groups = ", ".join(name for name in named if name.isidentifier())  # a selector says no more than the statement
        statement = unit.origin.statement
        return groups, self.trace.statements[statement].text if statement != NONE else ""

    def _commented(self, entries: list[_Entry], stream: int) -> list[_Entry]:
        """A comment before each stretch of one group and statement; plain code on `default` needs none."""
        found: list[_Entry] = []
        last: tuple[str, str] | None = None
        for entry in entries:
            if entry.label != last and entry.label is not None:
                last = entry.label
                groups, statement = entry.label
                text = ": ".join(filter(None, entry.label))
                if text and (groups or (stream != DEFAULT and statement)):
                    found.append(replace(entry, node=Comment(text), op=False))
            found.append(entry)
        return found

    def _nested(self, entries: list[_Entry], depth: int) -> list[Node]:
        """The nodes of `entries`, in blocks for the contexts beyond `depth`."""
        nodes: list[Node] = []
        for context, run in groupby(entries, lambda entry: (entry.contexts or ())[depth : depth + 1]):
            inside = list(run)
            if context:
                located = tuple(located_context(each, self.trace) for each in context)
                nodes.append(Block(located, tuple(self._nested(inside, depth + 1))))
            else:
                nodes += [entry.node for entry in inside]
        return nodes


def _merge_deletes(entries: Iterable[_Entry]) -> list[_Entry]:
    """Adjacent `del` lines as one."""
    found: list[_Entry] = []
    for entry in entries:
        if entry.deletes and found and found[-1].deletes:
            names = (*found[-1].deletes, *entry.deletes)
            found[-1] = replace(entry, node=Line(f"del {', '.join(names)}"), deletes=names)
        else:
            found.append(entry)
    return found


def _segments(entries: Iterable[_Entry]) -> list[tuple[int, list[_Entry]]]:
    """Consecutive lines of one stream. Open lines stay where they are, but a block does not end with a `del`."""
    segments: list[tuple[int, list[_Entry]]] = []
    for entry in entries:
        if not segments:
            segments.append((entry.stream if entry.stream != NONE else DEFAULT, [entry]))
            continue
        stream, current = segments[-1]
        if entry.stream in (NONE, stream):
            current.append(entry)
            continue
        moved: list[_Entry] = []
        while stream != DEFAULT and current[-1].deletes:
            moved.insert(0, current.pop())
        if moved and entry.stream != DEFAULT:
            segments.append((DEFAULT, moved))
            moved = []
        segments.append((entry.stream, [*moved, entry]))
    return segments


def _settled(entries: list[_Entry]) -> list[_Entry]:
    """The lines of one stream with their contexts and labels settled by their neighbours.

    A wait goes with what follows it, a record, a record_stream or a `del` with what it follows.
    """
    ahead: list[_Entry | None] = [None] * len(entries)
    following: _Entry | None = None
    for place in range(len(entries) - 1, -1, -1):
        ahead[place] = following
        following = entries[place] if entries[place].label is not None else following
    settled: list[_Entry] = []
    before: _Entry | None = None
    for entry, after in zip(entries, ahead, strict=True):
        if entry.label is not None:
            before = entry
            settled.append(entry)
            continue
        neighbours = [other for other in (before, after) if other is not None]
        contexts = common_prefix(*(other.contexts or () for other in neighbours)) if len(neighbours) == 2 else ()
        guide = after if entry.ahead and after is not None else before
        settled.append(replace(entry, contexts=contexts, label=guide.label if guide is not None else None))
    return settled
