"""Statements that the command line spells: a wrong one is a wrong use, whatever the schedule's text is like."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from streamsched.dsl.diagnostic import Diagnostic


def refuse_bad_values(found: Iterable[Diagnostic]) -> None:
    """Raise a usage error for the first syntax error in what an option gives, since no file can be mended there."""
    from streamsched.dsl.diagnostic import Severity
    from streamsched.dsl.typed import MODEL

    for diagnostic in found:
        option = diagnostic.span.file
        wrong = diagnostic.code.startswith("SYN") and diagnostic.severity is Severity.ERROR
        if wrong and (option.startswith("--") or option == MODEL):
            told = f"{diagnostic.message}; {diagnostic.help}" if diagnostic.help else diagnostic.message
            raise click.BadParameter(told, param_hint=option)
