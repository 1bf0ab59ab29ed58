"""One line on how many findings there are."""

from __future__ import annotations

from collections.abc import Sequence

from streamsched.dsl.diagnostic import Diagnostic, Severity


def summary(diagnostics: Sequence[Diagnostic]) -> str:
    """`2 errors, 1 warning`; empty when there is nothing to count."""
    parts = []
    for severity, one, many in (
        (Severity.ERROR, "error", "errors"),
        (Severity.WARNING, "warning", "warnings"),
        (Severity.INFO, "remark", "remarks"),
    ):
        count = sum(diagnostic.severity is severity for diagnostic in diagnostics)
        if count:
            parts.append(f"{count} {one if count == 1 else many}")
    return ", ".join(parts)
