"""CFG: settings that mean nothing."""

from __future__ import annotations

from collections.abc import Collection

from streamsched.dsl.diagnostic import Diagnostic, Severity, Span
from streamsched.dsl.nearest import nearest
from streamsched.dsl.rule import rule


@rule("CFG101", "unknown-setting", Severity.ERROR)
def unknown_setting(span: Span, key: str, known: Collection[str]) -> Diagnostic:
    """A key in `[tool.streamsched]` that there is not.

    It would be passed over in silence, and what it was meant to say would not be done.

    Example:

        [tool.streamsched]
        ingore = ["ORD104"]

    Use instead:

        [tool.streamsched]
        ignore = ["ORD104"]
    """
    guess = nearest(key, known)
    advice = f"did you mean `{guess}`?" if guess else f"the settings are {', '.join(sorted(known))}"
    return unknown_setting.diagnostic(span, f"there is no setting `{key}`", help=advice)


@rule("CFG102", "unknown-rule", Severity.ERROR)
def unknown_rule(span: Span, selector: str, known: Collection[str]) -> Diagnostic:
    """A setting names a rule, or a family of rules, that there is not.

    Rules are named by code, or by the beginning of one: `ORD104`, `ORD1`, `ORD`; `ALL` is every rule. A misspelled
    code in `ignore` ignores nothing, one in `select` checks nothing.

    Example:

        [tool.streamsched]
        ignore = ["ORD140"]

    Use instead:

        [tool.streamsched]
        ignore = ["ORD104"]
    """
    message = f"there is no rule `{selector}`"
    guess = nearest(selector, {*known, *(code[:3] for code in known), "ALL"})
    advice = f"did you mean `{guess}`?" if guess else "`streamsched explain` lists them all"
    return unknown_rule.diagnostic(span, message, help=advice)


@rule("CFG103", "invalid-setting", Severity.ERROR)
def invalid_setting(span: Span, what: str, help: str | None = None) -> Diagnostic:
    """A setting's value is not what the setting takes, or the file is no TOML, or cannot be read.

    Example:

        [tool.streamsched]
        ignore = "ORD104"
        severity = { MEM105 = "fatal" }

    Use instead:

        [tool.streamsched]
        ignore = ["ORD104"]
        severity = { MEM105 = "error" }
    """
    return invalid_setting.diagnostic(span, what, help=help)


RULES = (unknown_setting, unknown_rule, invalid_setting)
