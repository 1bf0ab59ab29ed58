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
        code,
        name,
        Severity(severity),
        message,
        Span(*span),
        tuple(Related(Span(*place), text) for place, text in related),
        tuple(notes),
        help_,
        Fix(fix[0], tuple(Edit(Span(*place), text) for place, text in fix[1]), fix[2]) if fix else None,
    )


def _pack_span(span: Span) -> list[Any]:
    return [span.file, span.line, span.column, span.end_line, span.end_column]
