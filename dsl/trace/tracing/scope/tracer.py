"""Tracing the modules in scope: one trace that is each module's."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import torch

from streamsched.dsl.diagnostic import Diagnostic, Related, Span
from streamsched.dsl.trace import leaf_rules, refusal_rules, scope_rules
from streamsched.dsl.trace.model import NONE, Scope, Trace
from streamsched.dsl.trace.request import ScopeRequest, Traced
from streamsched.dsl.trace.store import digest
from streamsched.dsl.trace.streamed import Streamed
from streamsched.dsl.trace.tracing import failures, places
from streamsched.dsl.trace.tracing.dims.symbols import Dims
from streamsched.dsl.trace.tracing.example_inputs import Inputs, load_inputs
from streamsched.dsl.trace.tracing.flags import common_flags
from streamsched.dsl.trace.tracing.leaves.ops import Leaves
from streamsched.dsl.trace.tracing.loader import Session
from streamsched.dsl.trace.tracing.scope.capture import Call, Export, capture
from streamsched.dsl.trace.tracing.scope.constants import Unheld, unified
from streamsched.dsl.trace.tracing.scope.dims import dims_of_calls
from streamsched.dsl.trace.tracing.scope.groups import advise
from streamsched.dsl.trace.tracing.scope.held import held_apart
from streamsched.dsl.trace.tracing.scope.likeness import alike
from streamsched.dsl.trace.tracing.scope.match import Difference, Match, match
from streamsched.dsl.trace.tracing.scope.objects import with_objects
from streamsched.dsl.trace.tracing.scope.select import select, shown

_OWN_LEAF_ADVICE = "leave the `leaf` statement out, or let it name modules inside of those in scope"
_REGION_ADVICE = "schedule a module that has the region in its forward(), or the whole model; or cast explicitly"

TraceRoot = Callable[[torch.nn.Module, Inputs, Dims], Traced]
"""Traces a module, called with inputs of some dynamic dims, as if it were the whole model."""


@dataclass(frozen=True, slots=True)
class _Case:
    """A call that was traced, with the paths of the modules that are like it in all that Python sees."""

    call: Call
    trace: Trace
    paths: list[str]
    streamed: Streamed | None


def trace_scope(
    session: Session,
    scope: ScopeRequest,
    model: torch.nn.Module,
    leaves: Leaves,
    inputs: Inputs,
    trace_root: TraceRoot,
    export: Export,
    report: Callable[[str], None],
) -> Traced:
    """The trace that all modules in scope have, or why there is none."""
    modules = select(model, scope)
    if isinstance(modules, Diagnostic):
        return Traced(None, (modules,))
    own = _own_leaf(modules, leaves)
    if own is not None:
        return Traced(None, (own,))
    report("running the model for the inputs of its modules")
    calls = capture(session, model, leaves, inputs, modules, export)
    if isinstance(calls, Diagnostic):
        return Traced(None, (calls,))
    found = _once_each(scope, modules, calls) or _under_autocast(session, scope, calls)
    if found is not None:
        return Traced(None, (found,))

    def calls_with(dims: Dims) -> list[Call] | Diagnostic:
        made = load_inputs(session, model, dims)
        return made if isinstance(made, Diagnostic) else capture(session, model, leaves, made, modules, export, dims)

    dims = dims_of_calls(session.request.inputs, calls, calls_with)
    if isinstance(dims, Diagnostic):
        return Traced(None, (dims,))
    return _trace_calls(session, scope, modules, calls, lambda m, given: trace_root(m, given, dims), report)


def _own_leaf(modules: dict[str, torch.nn.Module], leaves: Leaves) -> Diagnostic | None:
    """The finding that a module is to be traced, and to be one op that is not looked into."""
    found = next((leaf for module in modules.values() if (leaf := leaves.leaf(module)) is not None), None)
    if found is None:
        return None
    message = f"the leaf `{found.path}` is in scope: its forward() is what is traced"
    return leaf_rules.unsuitable_leaf(found.request.span, message, (), _OWN_LEAF_ADVICE)


def _once_each(scope: ScopeRequest, modules: dict[str, torch.nn.Module], calls: list[Call]) -> Diagnostic | None:
    """The finding that a module is called never, or more than once."""
    called = [call.path for call in calls]
    never = [path for path in modules if path not in set(called)]
    if never:
        advice = advise(scope, modules, [group for group in (list(dict.fromkeys(called)), never) if group])
        some = f"{len(never)} of {len(modules)} modules in scope are" if len(modules) > 1 else f"`{never[0]}` is"
        message = f"{some} never called while the model runs"
        notes = (f"never called: {shown(never)}",) if len(modules) > 1 else ()
        left = f"select those that are called: {shown(list(dict.fromkeys(called)))}" if called else None
        return scope_rules.scope_not_called(scope.span, message, notes, left, advice.fix if called else None)
    again = [path for path in modules if called.count(path) > 1]
    if again:
        message = f"`{again[0]}` is called {called.count(again[0])} times while the model runs"
        notes = (f"so are {shown(again[1:])}",) if len(again) > 1 else ()
        return scope_rules.scope_called_twice(scope.span, message, notes)
    return None


def _under_autocast(session: Session, scope: ScopeRequest, calls: list[Call]) -> Diagnostic | None:
    """The finding that a module is called where autocast casts: it is traced by itself, without."""
    inside = next((call.path for call in calls if call.casting), None)
    if inside is None:
        return None
    message = f"`{inside}` is called in an enabled torch.autocast region, of which its own trace knows nothing"
    related = tuple(at for place in session.regions.enabled for at in places.at(session, place, "the region"))
    return refusal_rules.dtype_under_autocast(scope.span, message, related, _REGION_ADVICE)


def _trace_calls(
    session: Session,
    scope: ScopeRequest,
    modules: dict[str, torch.nn.Module],
    calls: list[Call],
    trace_root: Callable[[torch.nn.Module, Inputs], Traced],
    report: Callable[[str], None],
) -> Traced:
    cases: list[_Case] = []
    found: dict[Diagnostic, None] = {}
    for call in calls:
        like = next((case for case in cases if alike(case.call, call)), None)
        if like is not None:
            like.paths.append(call.path)
            continue
        report(f"tracing {call.path}")
        traced = trace_root(call.module, call.inputs)
        if traced.trace is None:
            note = f"while `{call.path}` was traced, which is in scope"
            return Traced(None, tuple(dataclasses.replace(d, notes=(*d.notes, note)) for d in traced.diagnostics))
        found.update(dict.fromkeys(traced.diagnostics))
        cases.append(_Case(call, traced.trace, [call.path], traced.streamed))
    one = _one_trace(session, scope, modules, cases)
    if isinstance(one, Diagnostic):
        return Traced(None, (one,))
    warnings = tuple(dict.fromkeys(warning for case in cases for warning in case.trace.warnings))
    told = tuple(dict.fromkeys(warning for case in cases for warning in case.trace.told))
    instances = Scope(scope.glob, scope.class_name, tuple(call.path for call in calls))
    made = dataclasses.replace(one, sources=session.sources.described(), warnings=warnings, told=told, scope=instances)
    return Traced(dataclasses.replace(made, digest=digest(made)), tuple(found), cases[0].streamed)


def _one_trace(
    session: Session, scope: ScopeRequest, modules: dict[str, torch.nn.Module], cases: list[_Case]
) -> Trace | Diagnostic:
    """The trace of every case, if they are one."""
    first, *others = cases
    matches = [match(first.trace, case.trace) for case in others]
    same = [found for found in matches if isinstance(found, Match)]
    if len(same) < len(matches):
        return _differ(session, scope, modules, cases, matches)
    made = unified(first.trace, [case.call.module for case in cases], same)
    if isinstance(made, Unheld):
        return _unheld(session, scope, modules, cases, made)
    traces = [case.trace for case in others]
    return common_flags(with_objects(made, traces), traces)


def _differ(
    session: Session,
    scope: ScopeRequest,
    modules: dict[str, torch.nn.Module],
    cases: list[_Case],
    matches: list[Match | Difference],
) -> Diagnostic:
    """The finding that the ops of some modules are others than those of the first."""
    first, *others = cases
    case, difference = next((c, d) for c, d in zip(others, matches, strict=True) if isinstance(d, Difference))
    between = f"`{first.call.path}` and `{case.call.path}`"
    place = f" at op {max(difference.ops) + 1}" if max(difference.ops) != NONE else ""
    apart = held_apart((first.call.path, case.call.path), (first.trace, case.trace))
    held = "" if apart is None else f"; {apart}"
    message = f"modules in scope differ: {between}{place}: {difference.what}{held}"
    related = [
        _related(session, traced, op)
        for traced, op in zip((first, case), difference.ops, strict=True)
        if op != NONE and traced.trace.ops[op].stack != NONE
    ]
    advice = advise(scope, modules, _groups(cases))
    return scope_rules.scope_modules_differ(scope.span, message, tuple(related), advice.notes, advice.help, advice.fix)


def _groups(cases: list[_Case]) -> list[list[str]]:
    """The paths by traces that match, each group under the first that is like it."""
    leaders: list[tuple[_Case, list[str]]] = []
    for case in cases:
        group = next((g for leader, g in leaders if isinstance(match(leader.trace, case.trace), Match)), None)
        if group is None:
            leaders.append((case, list(case.paths)))
        else:
            group.extend(case.paths)
    return [group for _, group in leaders]


def _unheld(
    session: Session, scope: ScopeRequest, modules: dict[str, torch.nn.Module], cases: list[_Case], unheld: Unheld
) -> Diagnostic:
    """The finding that a constant differs, and is no attribute."""
    by_text: dict[str, list[str]] = {}
    for case, text in zip(cases, unheld.texts, strict=True):
        by_text.setdefault(text, []).extend(case.paths)
    (mine, paths), (its, others), *_ = by_text.items()
    kind, index = unheld.place[:2]
    what = f"an index of `{cases[0].trace.values[int(index)].expression}`" if kind == "values" else "a constant"
    message = f"modules in scope differ: {what} is {mine} in `{paths[0]}` and {its} in `{others[0]}`"
    related: tuple[Related, ...] = ()
    if kind == "ops" and cases[0].trace.ops[int(index)].stack != NONE:
        related = (_related(session, cases[0], int(index)),)
    advice = advise(scope, modules, list(by_text.values()))
    note = "no attribute that forward() reads holds it in each of them: store it in one, as `self.scale`, and use that"
    return scope_rules.scope_modules_differ(
        scope.span, message, related, (note, *advice.notes), advice.help, advice.fix
    )


def _related(session: Session, case: _Case, op: int) -> Related:
    """Where an op is issued in the user's own files; failing that, wherever it is."""
    trace = case.trace
    stack = [trace.positions[index] for index in trace.stacks[trace.ops[op].stack]]
    own = [position for position in stack if not session.sources.is_installed(position.file)]
    p = (own or stack)[-1]
    path = failures.path_of(p.file, session.request.base, session.sources)
    span = Span(path, p.line, p.column, p.end_line, p.end_column)
    return Related(span, f"op {op + 1} of `{case.call.path}`: `{trace.ops[op].target}`")
