"""What a diagnostic says besides its message, as lines of text, for formats that have no room for its parts."""

from __future__ import annotations

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.files import readable_name


def details(diagnostic: Diagnostic) -> list[str]:
    """Notes, related places, help and the fix's message; a note may hold several lines."""
    lines = list(diagnostic.notes)
    lines += [f"{readable_name(str(related.span))}: {related.message}" for related in diagnostic.related]
    lines += [f"help: {diagnostic.help}"] if diagnostic.help else []
    if diagnostic.fix:
        lines.append(f"{'fix' if diagnostic.fix.safe else 'unsafe fix'}: {diagnostic.fix.message}")
    return lines
