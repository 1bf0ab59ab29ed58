"""The rules of family SYN: faults that show in the text alone."""

from __future__ import annotations

from streamsched.dsl.diagnostic import Diagnostic, Severity
from streamsched.dsl.rule import rule
from streamsched.dsl.syntax.source import Fault


@rule("SYN101", "syntax-error", Severity.ERROR)
def syntax_error(fault: Fault) -> Diagnostic:
    """Text that is no statement of the language.

    Says what was expected where the text stops making sense, and what to type for common slips. Every statement is
    read for itself, so that one error hides no other.

    What is not understood cannot be checked: a placement or an edge that is skipped would change the meaning of the
    schedule in silence.

    Example:
        group expert module "shared_experts"
        expert => merge

    Use instead:
        group expert = module "shared_experts"
        expert -> merge
    """
    return syntax_error.diagnostic(fault.span, fault.message, help=fault.help, fix=fault.fix)


RULES = (syntax_error,)
