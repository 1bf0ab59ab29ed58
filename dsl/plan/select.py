"""Selectors to ops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.globs import compile_glob
from streamsched.dsl.plan import rules
from streamsched.dsl.plan.index import NOTHING, Selection, TraceIndex
from streamsched.dsl.syntax.formatter import format_selector
from streamsched.dsl.syntax.tree import (
    DifferenceSelector,
    GroupSelector,
    IndexSelector,
    IntersectionSelector,
    LineSelector,
    ModuleSelector,
    NodeSelector,
    OpSelector,
    RangeSelector,
    Selector,
    UnionSelector,
    ValueSelector,
)
from streamsched.dsl.syntax.usage import groups_in
from streamsched.dsl.trace.model import NONE, Trace


@dataclass
class Selecting:
    """One evaluation of a schedule's selectors: the groups known so far, and what was found wrong."""

    index: TraceIndex
    groups: Mapping[str, Selector]
    diagnostics: list[Diagnostic] = field(default_factory=list)
    _known: dict[str, Selection] = field(default_factory=dict)

    def group(self, name: str) -> Selection:
        """The ops of the group `name`; nothing for a group that was not declared, which the syntax reports.

        The groups that it is made of are selected first: a chain of them may be longer than Python's stack is deep.
        """
        waiting, begun = [name], set[str]()
        while waiting:
            each = waiting[-1]
            if each in begun:
                begun.remove(each)
                self._known[waiting.pop()] = self.select(self.groups[each])
            elif each in self._known or each not in self.groups:
                waiting.pop()
            else:
                begun.add(each)
                self._known[each] = NOTHING  # a group defined through itself, which the syntax reports
                waiting += (used.text for used in groups_in(self.groups[each]) if used.text not in self._known)
        return self._known.get(name, NOTHING)

    def select(self, selector: Selector) -> Selection:
        """The ops that `selector` selects. A part of it that matches nothing is reported."""
        match selector:
            case GroupSelector(name):
                return self.group(name)
            case UnionSelector(left, right):
                return self.select(left) | self.select(right)
            case IntersectionSelector(left, right):
                first, second = self.select(left), self.select(right)
                return self._some(selector, first & second) if first and second else NOTHING
            case DifferenceSelector(left, right):
                first, second = self.select(left), self.select(right)
                return self._some(selector, first - second) if first else NOTHING
            case RangeSelector(left, right):
                first, last = self.select(left), self.select(right)
                span = range(min(first), max(last) + 1) if first and last else range(0)
                return self._some(selector, frozenset(span)) if first and last else NOTHING
            case IndexSelector():
                return self._indexed(selector)
            case _:
                return self._leaf(selector)

    def _leaf(self, selector: Selector) -> Selection:
        trace = self.index.trace
        match selector:
            case ModuleSelector(glob):
                selection = self.index.modules(glob)
                if not selection and (idle := idle_module(trace, glob)):
                    self.diagnostics.append(rules.matches_nothing(selector.span, format_selector(selector), idle=idle))
                    return NOTHING
                candidates = (call.label for call in trace.calls[1:] if call.begin < call.end)
                return self._some(selector, selection, glob, candidates)
            case OpSelector(glob):
                names = {op.target.rsplit(".", 1)[0].split(".", 1)[-1] for op in trace.ops}
                return self._some(selector, select_ops(trace, glob), glob, names)
            case ValueSelector(names):
                missing = [name for name in names if name.text not in self.index.executions]
                for name in missing:
                    text = f'value "{name.text}"'
                    span = selector.span if len(names) == 1 else name.span
                    self.diagnostics.append(rules.matches_nothing(span, text, self.index.executions, name.text))
                return frozenset().union(*self._executions(selector))
            case NodeSelector(name):
                found = self.index.nodes.get(name, NONE)
                selection = NOTHING if found == NONE else frozenset((found,))
                if selection:
                    self._fragile(selector, found)
                return self._some(selector, selection, name, self.index.nodes)
            case LineSelector(file, first, last):
                selection = select_lines(trace, file, first, last)
                if selection:
                    self._fragile(selector, NONE)
                return self._some(selector, selection)
            case _:
                raise AssertionError(f"not a leaf: {selector}")

    def _executions(self, selector: ValueSelector) -> list[Selection]:
        """The executions that bind one of the names, in program order, each once."""
        found = {e: None for name in selector.names for e in self.index.executions.get(name.text, ())}
        return sorted(found, key=min)

    def _indexed(self, selector: IndexSelector) -> Selection:
        if isinstance(selector.operand, ValueSelector):
            self.select(selector.operand)
            parts = self._executions(selector.operand)
        else:
            parts = [frozenset((op,)) for op in sorted(self.select(selector.operand))]
        if not parts:
            return NOTHING
        start = selector.start
        if selector.slice:
            chosen = parts[start : selector.stop]
        else:
            assert start is not None
            chosen = parts[start : start + 1 or None]
        return self._some(selector, frozenset().union(*chosen))

    def _some(
        self, selector: Selector, selection: Selection, wanted: str = "", candidates: Iterable[str] = ()
    ) -> Selection:
        """`selection`, reported when it is empty."""
        if not selection:
            text = format_selector(selector)
            self.diagnostics.append(rules.matches_nothing(selector.span, text, candidates, wanted))
        return selection

    def _fragile(self, selector: Selector, op: int) -> None:
        instead = self.index.by_value.get(op)
        self.diagnostics.append(rules.fragile_selector(selector.span, format_selector(selector), instead))


def idle_module(trace: Trace, glob: str) -> str:
    """The label of a module that matches, is called and issues no op; empty where there is none."""
    pattern = compile_glob(glob)
    return next(
        (call.label for call in trace.calls[1:] if call.begin == call.end and pattern.fullmatch(call.label)), ""
    )


def select_ops(trace: Trace, glob: str) -> Selection:
    """The ops whose operator matches: `aten.mm.default`, `aten.mm`, or, where `glob` has no dot, `mm`."""
    pattern = compile_glob(glob)

    def matches(target: str) -> bool:
        packet = target.rsplit(".", 1)[0]
        return any(pattern.fullmatch(name) for name in (target, packet, packet.split(".", 1)[-1]))

    matching = {target for target in {op.target for op in trace.ops} if matches(target)}
    return frozenset(index for index, op in enumerate(trace.ops) if op.target in matching)


def select_lines(trace: Trace, file: str, first: int, last: int) -> Selection:
    """The ops with a frame in those lines of a file, named by its path or the end of it."""
    wanted = {
        index
        for index, position in enumerate(trace.positions)
        if ("/" + position.file).endswith("/" + file) and first <= position.line <= last
    }
    stacks = {index for index, stack in enumerate(trace.stacks) if wanted.intersection(stack)}
    return frozenset(index for index, op in enumerate(trace.ops) if op.stack in stacks)
