"""Whether a saved trace still fits the model and the schedule."""

from __future__ import annotations

import os

from streamsched.dsl.diagnostic import Diagnostic, Related, Span
from streamsched.dsl.files import file_bytes
from streamsched.dsl.trace import loss_rules, saved_rules
from streamsched.dsl.trace.model import Source, Trace
from streamsched.dsl.trace.request import EAGER, TraceRequest
from streamsched.dsl.trace.sources import installed_version, text_digest


def staleness(trace: Trace, wanted: TraceRequest) -> tuple[Diagnostic, ...]:
    """What has changed since a trace was made, for the schedule that wants it now.

    Files and packages that are not here are unknown, not stale.
    """
    then, now = (
        tuple(text for text in texts if text != EAGER) for texts in (trace.determined_by, wanted.determined_by)
    )
    eager = EAGER in trace.determined_by
    other = eager != (EAGER in wanted.determined_by)
    changed = [source for _, source in trace.sources if not source.package and _has_changed(source, wanted.base)]
    reasons = _statements(then, now) + [f"{source.path} has changed" for source in changed]
    related = [Related(_top(os.path.normpath(os.path.join(wanted.base, s.path))), "changed") for s in changed]
    keep = ""
    if other:
        keep = "" if reasons or wanted.chosen else "trace eager" if eager else "trace compiled"
        reasons.append(_mode(eager, wanted))
        related += [wanted.decided] if wanted.decided else []
    found: list[Diagnostic] = []
    if reasons:
        message, notes = f"the saved trace is stale: {reasons[0]}", tuple(reasons[1:])
        found.append(saved_rules.stale_trace(wanted.schedule_span, message, tuple(related), notes, keep))
    return (*found, *_drift(trace, wanted.schedule_span))


def other_mode(trace: Trace, wanted: TraceRequest) -> tuple[Diagnostic, ...]:
    """The warning that a saved trace is not that of the mode in which `wanted` would trace now, where it matters."""
    compiled = EAGER not in trace.determined_by
    if wanted.chosen or wanted.compiled == compiled or not any(c.branches_on_compiling for c in trace.calls):
        return ()
    now, other = ("compiled", "eagerly") if compiled else ("eager", "compiled")
    message = f"the saved trace is that of {now} runs, and forward() runs other ops where the target runs it {other}"
    return (loss_rules.compiling_changes_ops(wanted.schedule_span, message, (), ()),)


def warnings(trace: Trace, span: Span) -> tuple[Diagnostic, ...]:
    """What the tracer said of the model that is true of each file that is generated from a saved trace."""
    kept = (text for code, text in trace.told if code == loss_rules.attribute_not_kept.code)
    return tuple(loss_rules.attribute_not_kept(span, text) for text in kept)


def _statements(then: tuple[str, ...], now: tuple[str, ...]) -> list[str]:
    added = [f"`{text}` is new in the schedule" for text in now if text not in then]
    removed = [f"`{text}` is no longer in the schedule" for text in then if text not in now]
    if added or removed or then == now:
        return added + removed
    return ["the statements that determine it stand in another order"]


def _mode(eager: bool, wanted: TraceRequest) -> str:
    runs = "eager" if eager else "compiled"
    why = wanted.decided.message if wanted.decided else "code for npugraph_ex is compiled"
    return f"it is that of {runs} runs, and {why}"


def _has_changed(source: Source, base: str) -> bool:
    try:
        return bool(source.digest) and text_digest(file_bytes(os.path.join(base, source.path))) != source.digest
    except OSError:
        return False


def _top(file: str) -> Span:
    return Span(file, 1, 1, 1, 1)


def _drift(trace: Trace, span: Span) -> tuple[Diagnostic, ...]:
    packages = sorted({(s.package, s.version) for _, s in trace.sources if s.package and s.version})
    found: list[Diagnostic] = []
    for package, version in packages:
        here = installed_version(package)
        if here is not None and here != version:
            message = f"the trace was made with {package} {version}; here is {here}"
            found.append(saved_rules.package_drift(span, message, ()))
    return tuple(found)
