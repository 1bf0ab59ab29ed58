"""Checking a document: the findings that `lint` would print for its text."""

from __future__ import annotations

from collections.abc import Callable

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.lint.linting import lint_open
from streamsched.lsp.document import Document

Overtaken = Callable[[], bool]
"""Asked between two stages: whether a newer text has come, so that this one's findings are of no use."""


def findings(document: Document, overtaken: Overtaken) -> tuple[Diagnostic, ...] | None:
    """What is wrong with the schedule; None where it was overtaken. A model without a saved trace is not traced."""
    return lint_open(document.file, document.reading, document.saved, document.index, overtaken)
