"""What is shown beside the pointer: what a selector matches, what an edge orders, what a word means, a rule's page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from streamsched.dsl.diagnostic import Diagnostic, Span
from streamsched.dsl.rules import find
from streamsched.dsl.syntax.formatter import format_selector, format_statement
from streamsched.dsl.syntax.tree import BeforeStatement, EdgeStatement, PlacementStatement, Selector
from streamsched.dsl.trace.model import StorageKind, Trace
from streamsched.lsp.document import Document
from streamsched.lsp.found import GroupName, StreamName, selector_at, statement_at, symbol_at
from streamsched.lsp.keywords import KEYWORDS
from streamsched.lsp.ops import counted, summary, table
from streamsched.lsp.places import Place

_CODE = re.compile(r"\b[A-Z]{3}[0-9]{3}\b")
_WORD = re.compile(r"[a-z_]+")
NO_TRACE = "No saved trace lies beside this file; `streamsched trace` writes one."


@dataclass(frozen=True, slots=True)
class Hover:
    """Markdown about a span of the text."""

    text: str
    span: Span


def hover(document: Document, place: Place, found: Sequence[Diagnostic]) -> Hover | None:
    """What is to be said about `place`; `found` are the findings that are shown in the text."""
    about = _about(document, place)
    pages = [
        _page(finding) for finding in found if finding.span.file == document.file.path and place.inside(finding.span)
    ]
    if not pages:
        return about
    first = next(finding.span for finding in found if place.inside(finding.span))
    return Hover(
        "\n\n---\n\n".join([*([about.text] if about else []), *dict.fromkeys(pages)]), about.span if about else first
    )


def _about(document: Document, place: Place) -> Hover | None:
    symbol = symbol_at(document.symbols, place)
    if isinstance(symbol, StreamName):
        return Hover(_stream(document, symbol.name.text), symbol.name.span)
    if isinstance(symbol, GroupName):
        return Hover(_group(document, symbol.name.text), symbol.name.span)
    selector = selector_at(document.schedule, place)
    if selector is not None:
        return Hover(_selector(document, selector), selector.span)
    return _order(document, place) or _word(document, place)


def _stream(document: Document, name: str) -> str:
    statement = document.streams.get(name)
    declared = format_statement(statement) if statement is not None else f"stream {name}: the caller's current stream"
    placed = [s for s in document.schedule.statements if isinstance(s, PlacementStatement) and s.stream.text == name]
    lines = [f"```sched\n{declared}\n```"]
    if document.index is None:
        return "\n\n".join([*lines, NO_TRACE])
    ops = sorted({op for s in placed for selector in s.selectors for op in document.select(selector)})
    if ops:
        lines.append(
            f"{summary(document.index.trace, ops)}, placed by " + ", ".join(f"line {s.span.line}" for s in placed)
        )
    elif name != "default":
        lines.append("nothing is placed on it")
    return "\n\n".join(lines)


def _group(document: Document, name: str) -> str:
    statement = document.groups.get(name)
    if statement is None:
        return f"There is no group `{name}`."
    return f"```sched\n{format_statement(statement)}\n```\n\n{_selected(document, statement.selector)}"


def _selector(document: Document, selector: Selector) -> str:
    return f"```sched\n{format_selector(selector)}\n```\n\n{_selected(document, selector)}"


def _selected(document: Document, selector: Selector) -> str:
    if document.index is None:
        return NO_TRACE
    ops = document.select(selector)
    if not ops:
        return "matches nothing"
    trace = document.index.trace
    return f"{summary(trace, ops)}\n\n{table(trace, ops)}"


def _order(document: Document, place: Place) -> Hover | None:
    """What an edge or a `before` orders, where its arrow is pointed at."""
    statement = statement_at(document.schedule, place)
    if not isinstance(statement, EdgeStatement | BeforeStatement):
        return None
    place_of = (place.line, place.column)
    stage = max(
        (i for i, stage in enumerate(statement.stages) if (stage[0].span.line, stage[0].span.column) <= place_of),
        default=0,
    )
    stage = min(stage, len(statement.stages) - 2)
    first, second = statement.stages[stage], statement.stages[stage + 1]
    labels = [", ".join(map(format_selector, each)) for each in (first, second)]
    if document.index is None:
        return Hover(NO_TRACE, statement.span)
    before, after = ({op for each in part for op in document.select(each)} for part in (first, second))
    index = document.index
    kernels = [counted(len(index.kernels(ops)), "kernel") for ops in (before, after)]
    if isinstance(statement, BeforeStatement):
        text = f"The host issues the {kernels[0]} of `{labels[0]}` before the {kernels[1]} of `{labels[1]}`; no sync."
        return Hover(text, statement.span)
    text = f"The {kernels[0]} of `{labels[0]}` complete before any of the {kernels[1]} of `{labels[1]}` starts."
    return Hover(f"{text}\n\n{_shared(index.trace, before, after)}", statement.span)


def _shared(trace: Trace, before: set[int], after: set[int]) -> str:
    """The memory that one side writes and the other uses."""
    written = {storage for op in before for storage in trace.ops[op].writes}
    used = {storage for op in after for storage in (*trace.ops[op].reads, *trace.ops[op].writes)}
    memory = sorted(s for s in written & used if trace.storages[s].kind is not StorageKind.HOST)
    if not memory:
        return "They share no data that the first writes: the edge is for order only."
    return "Data: " + ", ".join(f"`{trace.storages[storage].name}`" for storage in memory)


def _word(document: Document, place: Place) -> Hover | None:
    """The page of a rule whose code is written there, as in an ignore comment; what a keyword means."""
    lines = document.file.text.split("\n")
    line = lines[place.line - 1] if place.line <= len(lines) else ""
    for pattern in (_CODE, _WORD):
        for match in pattern.finditer(line):
            span = Span(document.file.path, place.line, match.start() + 1, place.line, match.end() + 1)
            if not place.inside(span):
                continue
            rule = find(match[0]) if pattern is _CODE else None
            if rule is not None:
                return Hover(f"**{rule.code}** {rule.name}\n\n{rule.page}", span)
            if match[0] in KEYWORDS and not line[: match.start()].count('"') % 2 and "#" not in line[: match.start()]:
                return Hover(f"```sched\n{KEYWORDS[match[0]].form}\n```\n\n{KEYWORDS[match[0]].meaning}", span)
    return None


def _page(finding: Diagnostic) -> str:
    rule = find(finding.code)
    page = f"\n\n{rule.page}" if rule is not None else ""
    return f"**{finding.code}** {finding.name}{page}"
