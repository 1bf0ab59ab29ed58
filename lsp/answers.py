"""From the features' answers to the protocol's."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import quote

from lsprotocol import types

from streamsched.dsl.diagnostic import Diagnostic, Edit, Related, Severity, Span
from streamsched.lsp.completion import Offer
from streamsched.lsp.outline import Entry
from streamsched.lsp.places import Lines
from streamsched.lsp.session import Open
from streamsched.lsp.source_files import on_disk

SOURCE = "streamsched"
SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Information,
}
OFFER_KINDS = {
    "keyword": types.CompletionItemKind.Keyword,
    "group": types.CompletionItemKind.Variable,
    "stream": types.CompletionItemKind.Event,
    "module": types.CompletionItemKind.Module,
    "op": types.CompletionItemKind.Function,
    "value": types.CompletionItemKind.Value,
    "node": types.CompletionItemKind.Reference,
    "file": types.CompletionItemKind.File,
    "name": types.CompletionItemKind.Class,
    "rule": types.CompletionItemKind.Constant,
}
SYMBOL_KINDS = {
    "schedule": types.SymbolKind.Namespace,
    "model": types.SymbolKind.Class,
    "stream": types.SymbolKind.Event,
    "group": types.SymbolKind.Variable,
}


def uri_of(file: str) -> str:
    """The URI of a file on this machine."""
    return "file://" + quote(Path(os.path.abspath(file)).as_posix())


def finding(diagnostic: Diagnostic, opened: Open) -> types.Diagnostic:
    """A finding; what it says elsewhere is related to it. One of another file stands at the top of this one, and names
    the file.
    """
    lines, here, span = opened.lines, diagnostic.span.file == opened.file, diagnostic.span
    said = diagnostic.message if here else f"{span.file}:{span.line}: {diagnostic.message}"
    message = "\n".join([said, *diagnostic.notes, *([diagnostic.help] if diagnostic.help else [])])
    related = [
        types.DiagnosticRelatedInformation(place, other.message)
        for other in (*(() if here else (Related(span, diagnostic.message),)), *diagnostic.related)
        if (place := location(other.span, opened)) is not None
    ]
    return types.Diagnostic(
        range=lines.range(span) if here else types.Range(types.Position(0, 0), types.Position(0, 0)),
        message=message,
        severity=SEVERITIES[diagnostic.severity],
        code=diagnostic.code,
        source=SOURCE,
        related_information=related,
    )


def location(span: Span, opened: Open) -> types.Location | None:
    """Where a span is; None in a file that is not here. Columns of other files are taken as they are."""
    if span.file == opened.file:
        return types.Location(opened.uri, opened.lines.range(span))
    file = on_disk(opened.document, span.file)
    if not file or not os.path.exists(file):
        return None
    start = types.Position(span.line - 1, span.column - 1)
    end = types.Position(span.end_line - 1, span.end_column - 1)
    return types.Location(uri_of(file), types.Range(start, end))


def text_edits(edits: Iterable[Edit], lines: Lines) -> list[types.TextEdit]:
    """Edits of this text."""
    return [types.TextEdit(lines.range(edit.span), edit.text) for edit in edits]


def completion_item(offer: Offer, place: types.Range, order: int) -> types.CompletionItem:
    """One completion, which replaces what stands at `place`; `order` is its place in the list."""
    return types.CompletionItem(
        label=offer.text,
        kind=OFFER_KINDS[offer.kind],
        detail=offer.note or None,
        sort_text=f"{order:04}",
        filter_text=offer.text,
        text_edit=types.TextEdit(place, offer.text),
    )


def symbol(entry: Entry, lines: Lines) -> types.DocumentSymbol:
    """One line of the outline."""
    return types.DocumentSymbol(
        name=entry.name,
        kind=SYMBOL_KINDS[entry.kind],
        detail=entry.detail or None,
        range=lines.range(entry.span),
        selection_range=lines.range(entry.name_span),
    )


def quick_fixes(opened: Open, found: Sequence[Diagnostic], within: types.Range) -> list[types.CodeAction]:
    """The fixes of the findings that touch a range, the safe ones preferred."""
    file, lines = opened.file, opened.lines
    actions = []
    for diagnostic in found:
        if diagnostic.fix is None or diagnostic.span.file != file:
            continue
        shown = finding(diagnostic, opened)
        if shown.range.end < within.start or within.end < shown.range.start:
            continue
        if any(edit.span.file != file for edit in diagnostic.fix.edits):
            continue
        message = diagnostic.fix.message
        actions.append(
            types.CodeAction(
                title=message[:1].upper() + message[1:],
                kind=types.CodeActionKind.QuickFix,
                diagnostics=[shown],
                is_preferred=diagnostic.fix.safe,
                edit=types.WorkspaceEdit(changes={opened.uri: text_edits(diagnostic.fix.edits, lines)}),
            )
        )
    return actions
