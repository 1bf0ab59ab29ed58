"""Diagnostics as JSON that can be read back."""

from __future__ import annotations

from typing import Any

from streamsched.dsl.diagnostic import Diagnostic, Edit, Fix, Related, Severity, Span


def pack(diagnostic: Diagnostic) -> list[Any]:
    """A diagnostic as lists and texts."""
    fix = diagnostic.fix
    return [
        diagnostic.code,
        diagnostic.name,
        diagnostic.severity.value,
        diagnostic.message,
        _pack_span(diagnostic.span),
        [[_pack_span(related.span), related.message] for related in diagnostic.related],
        list(diagnostic.notes),
        diagnostic.help,
        [fix.message, [[_pack_span(edit.span), edit.text] for edit in fix.edits], fix.safe] if fix else None,
    ]


def unpack(packed: list[Any]) -> Diagnostic:
    """The diagnostic that `pack` made into this. Raises ValueError, TypeError or AssertionError where it is none."""
    code, name, severity, message, span, related, notes, help_, fix = packed
    return Diagnostic(
        _text(code),
        _text(name),
        Severity(severity),
        _text(message),
        _unpack_span(span),
        tuple(Related(_unpack_span(place), _text(text)) for place, text in related),
        tuple(map(_text, notes)),
        _text(help_) if help_ is not None else None,
        _unpack_fix(*fix) if fix is not None else None,
    )


def _unpack_fix(message: object, edits: list[Any], safe: object) -> Fix:
    if not isinstance(safe, bool):
        raise TypeError(safe)
    return Fix(_text(message), tuple(Edit(_unpack_span(place), _text(text)) for place, text in edits), safe)


def _unpack_span(packed: list[Any]) -> Span:
    file, *places = packed
    if not all(type(place) is int for place in places):
        raise TypeError(places)
    return Span(_text(file), *places)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _pack_span(span: Span) -> list[Any]:
    return [span.file, span.line, span.column, span.end_line, span.end_column]
