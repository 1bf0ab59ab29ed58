"""The rules about saved traces: those that cannot be read, and those that are stale."""

from __future__ import annotations

from typing import Any

from streamsched.dsl.diagnostic import Diagnostic, Related, Severity, Span
from streamsched.dsl.rule import Rule, rule


@rule("TRC111", "unreadable-trace", Severity.ERROR)
def unreadable_trace(span: Span, message: str, help: str = "") -> Diagnostic:
    """A saved trace cannot be read.

    Reports a `.trace.json.gz` file that cannot be opened, is no gzip file, is cut short, or holds something else.

    Why is this bad: a damaged trace would give checks and code for another model than yours.

    Example:
        git merge       # wrote conflict markers into model.trace.json.gz

    Use instead:
        streamsched trace model.sched       # writes it anew
    """
    return unreadable_trace.diagnostic(span, message, help=help or f"make it anew with `streamsched trace {span.file}`")


@rule("TRC112", "trace-of-other-version", Severity.ERROR)
def trace_of_other_version(span: Span, message: str) -> Diagnostic:
    """A saved trace has the format of another release.

    Reports a trace file whose format number this release does not read.

    Why is this bad: fields may mean something else there.

    Example:
        pip install --upgrade streamsched
        streamsched lint model.sched

    Use instead:
        streamsched trace model.sched
        streamsched lint model.sched
    """
    return trace_of_other_version.diagnostic(span, message, help=f"make it anew with `streamsched trace {span.file}`")


@rule("SEL105", "stale-trace", Severity.ERROR)
def stale_trace(
    span: Span, message: str, related: tuple[Related, ...], notes: tuple[str, ...], keep: str = ""
) -> Diagnostic:
    """A saved trace no longer fits the model or the schedule.

    Reports a trace where a file that it was made from has changed since, or where the schedule's `model`, `input` or
    other statements that determine it have. Files that are not there are not compared. The target, which the schedule
    or pyproject.toml names, counts by whether its code is compiled: that of npugraph_ex is, and others' runs eagerly.

    Why is this bad: selectors and checks would speak about a model that is no more.

    Example:
        # model.py was edited after the trace was made
        streamsched lint model.sched

    Use instead:
        streamsched trace model.sched
        streamsched lint model.sched
    """
    advice = f"make it anew with `streamsched trace {span.file}`"
    advice += f", or keep it by writing `{keep}` into the schedule" if keep else ""
    return stale_trace.diagnostic(span, message, related=related, notes=notes, help=advice)


@rule("SEL106", "package-drift", Severity.WARNING)
def package_drift(span: Span, message: str, notes: tuple[str, ...]) -> Diagnostic:
    """A package that the model uses has another version here than where the trace was made.

    Reports an installed package with code in the trace whose version differs. Packages that are not installed are not
    compared.

    Why is this bad: the model that runs here may issue other ops than those that were checked.

    Example:
        pip install transformers==5.25      # the trace was made with 5.24
        streamsched lint model.sched

    Use instead:
        streamsched trace model.sched       # and commit the new trace
    """
    return package_drift.diagnostic(
        span, message, notes=notes, help="make the trace anew, or install the version that it was made with"
    )


RULES: tuple[Rule[Any, Any], ...] = (
    unreadable_trace,
    trace_of_other_version,
    stale_trace,
    package_drift,
)
