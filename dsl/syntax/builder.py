"""From lark's parse tree of one statement to the statement."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from lark import Token, Tree

from streamsched.dsl.diagnostic import Span
from streamsched.dsl.syntax.source import Fault, Source
from streamsched.dsl.syntax.tree import (
    BeforeStatement,
    CostStatement,
    DeviceFileStatement,
    DeviceStatement,
    DifferenceSelector,
    EdgeStatement,
    FakesStatement,
    GraphsStatement,
    GroupSelector,
    GroupStatement,
    HoldingStatement,
    IndexSelector,
    InputsFromStatement,
    InputSpec,
    InputStatement,
    IntersectionSelector,
    LeafStatement,
    LineSelector,
    MemoryStatement,
    ModelStatement,
    ModuleSelector,
    Name,
    NodeSelector,
    OpSelector,
    OwnDeviceStatement,
    PlacementStatement,
    RangeSelector,
    ScheduleStatement,
    ScopeStatement,
    Selector,
    Statement,
    StreamStatement,
    SyncStatement,
    TargetStatement,
    TraceStatement,
    UnionSelector,
    ValueSelector,
    WorldStatement,
)

Node: TypeAlias = Tree[Token] | Token | None

DEPTH_LIMIT = 200
"""How many operators of a selector may work on one another's results."""

_NOT_NAMES = ("on", "before")
_REFERENCE = re.compile(r"(?P<file>.+):(?P<attribute>[^\W\d]\w*(?:\.[^\W\d]\w*)*)")
_LINES = re.compile(r"(?P<file>.+):(?P<first>[0-9]{1,9})(?:-(?P<last>[0-9]{1,9}))?")
_ESCAPE = re.compile(r'\\(["\\])')
_DURATION = re.compile(r"([0-9.]+)([a-z]+)")
_MICROSECONDS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}


class NotAStatementError(Exception):
    """The text follows the grammar and still makes no statement. Never leaves the parser."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


@dataclass(frozen=True, slots=True)
class Builder:
    """Builds statements out of parse trees of the text from `offset` on."""

    source: Source
    offset: int

    def statement(self, node: Node) -> Statement:
        """The statement of a parse tree. Raises NotAStatementError."""
        tree = _tree(node)
        span = self._span(tree)
        match tree.data, tree.children:
            case "schedule", [name]:
                return ScheduleStatement(self._name(name), span=span)
            case "model", [string]:
                return ModelStatement(*self._reference(string), span=span)
            case "scope", [string, class_name]:
                return ScopeStatement(self._string(string), self._optional_name(class_name), span=span)
            case "input", specs:
                return InputStatement(tuple(self._spec(spec) for spec in specs), span=span)
            case "inputs_from", [string]:
                return InputsFromStatement(*self._reference(string), span=span)
            case "leaf", [string, *function]:
                shape = next(map(self._reference, _given(function)), None)
                return LeafStatement(self._string(string), shape, span=span)
            case "fakes", [string]:
                return FakesStatement(self._string(string), span=span)
            case "target", [name]:
                return TargetStatement(self._name(name), span=span)
            case "device", [name]:
                return DeviceStatement(self._name(name), span=span)
            case "sync", [_, mode]:
                return SyncStatement(str(mode), span=span)
            case "memory", [_, mode]:
                return MemoryStatement(str(mode), span=span)
            case "trace", [_, mode]:
                return TraceStatement(str(mode), span=span)
            case "world", [ranks]:
                return WorldStatement(self._int(ranks), span=span)
            case "cost", [group, duration]:
                return CostStatement(self._name(group), self._microseconds(duration), span=span)
        return self._about_cores(tree, span) or self._about_groups(tree, span)

    def _about_cores(self, tree: Tree[Token], span: Span) -> Statement | None:
        match tree.data, tree.children:
            case "own_device", [name, *numbers]:
                given = self._once(map(_tree, _given(numbers)))
                return OwnDeviceStatement(self._name(name), tuple(given.items()), span=span)
            case "device_file", [string]:
                return DeviceFileStatement(self._string(string), span=span)
            case "graphs", [count]:
                return GraphsStatement(self._int(count), span=span)
            case ("batch" | "collective") as kind, [selectors, cores]:
                given = self._once(_pairs(cores))
                limits = given.get("aic"), given.get("aiv")
                return HoldingStatement(str(kind), self._selectors(selectors), *limits, span=span)
        return None

    def _about_groups(self, tree: Tree[Token], span: Span) -> Statement:
        match tree.data, tree.children:
            case "stream", [names, *options]:
                return self._stream(names, options, span)
            case "group", [name, selector]:
                return GroupStatement(self._name(name), self._selector(selector), span=span)
            case "placement", [selectors, stream]:
                return PlacementStatement(self._selectors(selectors), self._name(stream), span=span)
            case "edge", stages:
                return EdgeStatement(tuple(self._selectors(stage) for stage in stages), span=span)
            case "before", stages:
                return BeforeStatement(tuple(self._selectors(stage) for stage in stages), span=span)
        raise AssertionError(tree.data)

    def _spec(self, node: Node) -> InputSpec:
        names, dtype, *dims = _tree(node).children
        return InputSpec(
            self._names(names),
            self._name(dtype).text,
            tuple(self._int(dim) if dim.type == "INT" else self._name(dim).text for dim in map(_token, _given(dims))),
            span=self._span(_tree(node)),
            dtype_span=self._span(_token(dtype)),
        )

    def _stream(self, names: Node, options: Sequence[Node], span: Span) -> StreamStatement:
        given = self._once(pair for option in map(_tree, _given(options)) for pair in _pairs(option))
        return StreamStatement(self._names(names), given.get("priority"), given.get("aic"), given.get("aiv"), span=span)

    def _selectors(self, node: Node) -> tuple[Selector, ...]:
        return tuple(self._selector(child) for child in _tree(node).children)

    def _selector(self, node: Node) -> Selector:
        tree = _tree(node)
        if _deeper(tree, DEPTH_LIMIT):
            advice = "name parts of it with `group NAME = ...`"
            self._fail(self._span(tree), f"this selector has more than {DEPTH_LIMIT} operators in a row", advice)
        return self._operand(tree)

    def _operand(self, node: Node) -> Selector:
        tree = _tree(node)
        span = self._span(tree)
        match tree.data, tree.children:
            case "union", [left, right]:
                return UnionSelector(self._operand(left), self._operand(right), span=span)
            case "difference", [left, right]:
                return DifferenceSelector(self._operand(left), self._operand(right), span=span)
            case "intersection", [left, right]:
                return IntersectionSelector(self._operand(left), self._operand(right), span=span)
            case "range", [first, last]:
                return RangeSelector(self._operand(first), self._operand(last), span=span)
            case "index", [operand, index]:
                return IndexSelector(self._operand(operand), self._int(index), None, False, span=span)
            case "slice", [operand, start, stop]:
                bounds = (self._optional_int(start), self._optional_int(stop))
                return IndexSelector(self._operand(operand), *bounds, True, span=span)
        return self._primary(tree, span)

    def _primary(self, tree: Tree[Token], span: Span) -> Selector:
        match tree.data, tree.children:
            case "group_name", [name]:
                return GroupSelector(self._name(name).text, span=span)
            case "module_glob", [string]:
                return ModuleSelector(self._string(string), span=span)
            case "op_glob", [string]:
                return OpSelector(self._string(string), span=span)
            case "node_name", [string]:
                return NodeSelector(self._string(string), span=span)
            case "line_range", [string]:
                return self._lines(string, span)
            case "value_name", [string]:
                return ValueSelector((self._value(string),), False, span=span)
            case "value_names", names:
                return ValueSelector(tuple(self._value(name) for name in _given(names)), True, span=span)
        raise AssertionError(tree.data)

    def _lines(self, node: Node, span: Span) -> LineSelector:
        match = _LINES.fullmatch(self._string(node))
        if match is None:
            advice = 'write the file, a colon and the lines: `line "model.py:31-40"`'
            self._fail(self._span(_token(node)), "this string names no lines of a file", advice)
        first = int(match["first"])
        return LineSelector(match["file"], first, int(match["last"] or first), span=span)

    def _reference(self, node: Node) -> tuple[str, str]:
        text = self._string(node)
        match = _REFERENCE.fullmatch(text)
        if match is None:
            advice = 'write the file or package, a colon and the name in it: `"model.py:build"`'
            what = "the name behind the colon is missing" if ":" in text else "the colon and a name are missing"
            self._fail(self._span(_token(node)), what, advice)
        return match["file"], match["attribute"]

    def _names(self, node: Node) -> tuple[Name, ...]:
        return tuple(self._name(child) for child in _tree(node).children)

    def _optional_name(self, node: Node) -> Name | None:
        return None if node is None else self._name(node)

    def _name(self, node: Node) -> Name:
        token = _token(node)
        if token in _NOT_NAMES:
            self._fail(self._span(token), f"`{token}` is a keyword and cannot be a name", "choose another name")
        return Name(str(token), span=self._span(token))

    def _value(self, node: Node) -> Name:
        """The name of a value, quoted or bare."""
        token = _token(node)
        return Name(self._string(token), span=self._span(token)) if token.type == "STRING" else self._name(token)

    def _string(self, node: Node) -> str:
        return _ESCAPE.sub(r"\1", _token(node)[1:-1])

    def _optional_int(self, node: Node) -> int | None:
        return None if node is None else self._int(node)

    def _int(self, node: Node) -> int:
        token = _token(node)
        if len(token) > 18:
            self._fail(self._span(token), "this number is too large")
        return int(token)

    def _microseconds(self, node: Node) -> float:
        token = _token(node)
        match = _DURATION.fullmatch(token)
        assert match is not None, token
        if len(token) > 24:
            self._fail(self._span(token), "this duration has too many digits")
        return float(match[1]) * _MICROSECONDS[match[2]]

    def _once(self, pairs: Iterable[Tree[Token]]) -> dict[str, int]:
        """The numbers of `aic N`, `priority N` and their like, by their words."""
        given: dict[str, int] = {}
        for word, number in (pair.children for pair in pairs):
            name = self._name(word)
            if name.text in given:
                self._fail(name.span, f"`{name.text}` is given twice")
            given[name.text] = self._int(number)
        return given

    def _span(self, node: Tree[Token] | Token) -> Span:
        place = node if isinstance(node, Token) else node.meta
        assert place.start_pos is not None and place.end_pos is not None, node
        return self.source.span(self.offset + place.start_pos, self.offset + place.end_pos)

    def _fail(self, span: Span, message: str, help: str | None = None) -> NoReturn:
        raise NotAStatementError(Fault(span, message, help))


def _tree(node: Node) -> Tree[Token]:
    assert isinstance(node, Tree), node
    return node


def _token(node: Node) -> Token:
    assert isinstance(node, Token), node
    return node


def _pairs(option: Node) -> list[Tree[Token]]:
    """The pairs of a word and a number in `priority N` or in `cores aic N, aiv N`; none where it was left out."""
    if option is None:
        return []
    tree = _tree(option)
    return list(map(_tree, _given(tree.children))) if tree.data == "cores" else [tree]


def _given(nodes: Sequence[Node]) -> list[Tree[Token] | Token]:
    """The nodes without the places of optional ones that were left out."""
    return [node for node in nodes if node is not None]


def _deeper(tree: Tree[Token], limit: int) -> bool:
    """Whether a tree is deeper than `limit`, found without recursion."""
    level = [tree]
    for _ in range(limit):
        level = [child for node in level for child in node.children if isinstance(child, Tree)]
        if not level:
            return False
    return True
