"""The rules of family SYN: faults that show in the text alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from streamsched.dsl.diagnostic import Diagnostic, Severity
from streamsched.dsl.rule import Rule, rule
from streamsched.dsl.syntax.name_rules import (
    circular_group,
    duplicate_name,
    undefined_name,
    unused_group,
    unused_stream,
)
from streamsched.dsl.syntax.source import Fault
from streamsched.dsl.syntax.statement_rules import (
    conflicting_inputs,
    default_stream,
    invalid_value,
    misplaced_schedule,
    missing_statement,
    not_supported_yet,
    repeated_statement,
    unknown_device,
    unknown_dtype,
    unknown_target,
)
from streamsched.dsl.syntax.usage import Names


@rule("SYN101", "syntax-error", Severity.ERROR)
def syntax_error(fault: Fault) -> Diagnostic:
    """Text that is no statement of the language.

    Says what was expected where the text stops making sense, and what to type for common slips. Every statement is
    read for itself, so that one error hides no other.

    What is not understood cannot be checked: a placement or an edge that is skipped in silence would change what the
    schedule means.

    Example:

        group expert module "shared_experts"
        expert => merge

    Use instead:

        group expert = module "shared_experts"
        expert -> merge
    """
    return syntax_error.diagnostic(fault.span, fault.message, help=fault.help, fix=fault.fix)


NAME_RULES: tuple[Rule[[Names], Iterator[Diagnostic]], ...] = (
    duplicate_name,
    undefined_name,
    missing_statement,
    misplaced_schedule,
    repeated_statement,
    circular_group,
    unknown_target,
    unknown_dtype,
    unknown_device,
    default_stream,
    conflicting_inputs,
    invalid_value,
    not_supported_yet,
    unused_stream,
    unused_group,
)
"""The rules that read a parsed schedule."""

RULES: tuple[Rule[Any, Any], ...] = (syntax_error, *NAME_RULES)
