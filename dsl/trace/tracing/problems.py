"""What keeps an exported program from being a trace, and what a trace does not hold, in people's words."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from streamsched.dsl.diagnostic import Diagnostic, Related, Span
from streamsched.dsl.trace import collective_rules, leaf_rules, rules
from streamsched.dsl.trace.model import NONE
from streamsched.dsl.trace.tracing import collectives, failures
from streamsched.dsl.trace.tracing.arguments import instances, opaque
from streamsched.dsl.trace.tracing.assembly.assemble import Assembled
from streamsched.dsl.trace.tracing.assembly.effects import is_sized_by_data
from streamsched.dsl.trace.tracing.assembly.values import issue_of
from streamsched.dsl.trace.tracing.example_inputs import Inputs
from streamsched.dsl.trace.tracing.failures import Place
from streamsched.dsl.trace.tracing.leaves import remedies
from streamsched.dsl.trace.tracing.loader import Session
from streamsched.dsl.trace.tracing.provenance.recorder import NOWHERE, Issue, Recorder
from streamsched.dsl.trace.tracing.refusals import NO_SEQUENCE
from streamsched.dsl.trace.tracing.state.kept import State
from streamsched.dsl.trace.tracing.traps.autocast import Regions
from streamsched.dsl.trace.tracing.traps.comparison import difference
from streamsched.dsl.trace.tracing.traps.device_branches import branches

_LOST = re.compile(r"The tensor attributes? (.*) (?:was|were) assigned during export")
_GROWN_ADVICE = (
    "let the inputs hold all that it needs from the start: `DynamicCache(config=config)` has its layers, "
    "`StaticCache` after `early_initialization()` its tensors, too"
)
_STATE_ADVICE = "copy into the tensor that is there: `copy_()`"
_OWN_HOOKS_ADVICE = "do it in forward(), or make the model a part of another and schedule that one"


def root_hooks(session: Session, model: torch.nn.Module) -> Diagnostic | None:
    """The finding that the model itself has forward hooks, which generated code would run a second time."""
    for hook in model._forward_hooks.values():
        return _hooked(session, hook, "forward hook")
    return None


def root_pre_hooks(session: Session, model: torch.nn.Module, recorder: Recorder) -> Diagnostic | None:
    """The same of forward pre-hooks that issued ops."""
    for hook in model._forward_pre_hooks.values() if recorder.outside else ():
        return _hooked(session, hook, "forward pre-hook")
    return None


def _hooked(session: Session, hook: object, kind: str) -> Diagnostic:
    name = getattr(hook, "__qualname__", type(hook).__qualname__)
    code = getattr(hook, "__code__", None)
    related = () if code is None else _at(session, Place(code, 0), "the hook")
    message = f"the model itself has a {kind} (`{name}`), which computes outside of its forward()"
    return rules.unsupported_construct(session.request.model_span, message, related, (), _OWN_HOOKS_ADVICE)


def problems(
    session: Session, program: ExportedProgram, parts: Assembled, recorder: Recorder
) -> tuple[Diagnostic, ...]:
    """Why there is no trace; empty if there is one."""
    span = session.request.model_span
    found: list[Diagnostic] = []
    for node in parts.unsupported:
        name = str(node.target).removesuffix("_impl")
        message = f"forward() uses `{name}`, {NO_SEQUENCE}"
        issue = recorder.issues.get(issue_of(node) or 0, NOWHERE)
        fix = remedies.leaf_of(session, recorder, recorder.calls.records[issue.call].module)
        related = _related(session, recorder, node, "here")
        found.append(rules.unsupported_construct(span, message, related, (), remedies.LEAF_ADVICE, fix))
    for bad in parts.bad_constants:
        related = _related(session, recorder, bad.node, "the constant is made here")
        found.append(rules.constant_without_values(span, bad.message, related))
    found += _communication(session, program, parts, recorder)
    for node in parts.unspelled:
        message = "forward() computes a number from its sizes in a way that generated code cannot"
        related = _related(session, recorder, node, "here")
        found.append(rules.unsupported_construct(span, message, related, (), "use `+ - * / // %`, min() and max()"))
    found += _unprintable_leaves(session, parts, recorder)
    for grown in recorder.calls.reshaped:
        message = f"forward() adds to {grown} or takes from it, and generated code can only assign to what is there"
        found.append(rules.unsupported_construct(span, message, _returned(session, recorder), (), _GROWN_ADVICE))
    for refused in parts.state.refused:
        found.append(rules.unsupported_construct(span, refused, _returned(session, recorder), (), _STATE_ADVICE))
    for unknown in () if parts.unsupported else dict.fromkeys(opaque(parts.result)):
        found.append(_unknown_result(session, program, recorder, unknown))
    return tuple(found)


def _unprintable_leaves(session: Session, parts: Assembled, recorder: Recorder) -> Iterator[Diagnostic]:
    """The leaves whose call cannot be written out."""
    for call, record in zip(parts.calls, recorder.calls.records, strict=True):
        leaf = recorder.leaves.leaf(record.module)
        for argument in (*call.args, *(argument for _, argument in call.kwargs)) if leaf is not None else ():
            unknown = next(iter((*opaque(argument), *(f"a {item.type}" for item in instances(argument)))), None)
            if leaf is not None and unknown is not None:
                issues = [issue for issue in recorder.issues.values() if recorder.calls.records[issue.call] is record]
                related = _at_issue(session, recorder, issues[-1], "called here") if issues else ()
                message = f"the call of the leaf `{leaf.path}` cannot be written: it is given {unknown}"
                advice = "give it tensors, constants, and tuples, lists and dicts of these"
                yield leaf_rules.unsuitable_leaf(leaf.request.span, message, related, advice)


def _communication(
    session: Session, program: ExportedProgram, parts: Assembled, recorder: Recorder
) -> Iterator[Diagnostic]:
    """What of its communication a model cannot be traced with."""
    span = session.request.model_span
    for node in program.graph.nodes:
        if collectives.is_unordered(node.target):
            message = f"forward() calls `{node.target}`, which has no result to order by"
            related = _related(session, recorder, node, "here")
            yield collective_rules.collective_not_traced(span, message, related)
    if parts.communication.begun and not session.request.world:
        message = "forward() uses collectives, and the schedule does not say in how many ranks"
        yield collective_rules.world_missing(session.request.schedule_span, message, ())
    for node in parts.communication.unreachable:
        message = f"no attribute of the model holds the process group of `{node.name}`"
        yield collective_rules.group_not_reachable(span, message, _related(session, recorder, node, "the collective"))


def _unknown_result(session: Session, program: ExportedProgram, recorder: Recorder, unknown: str) -> Diagnostic:
    span = session.request.model_span
    for node in program.graph.nodes if unknown == "a tensor" else ():
        if _is_sized_by_data(node.meta.get("val")):
            related = _related(session, recorder, node, "its size is known only when this has run")
            message = "the size of a tensor that forward() returns depends on the data of another"
            return rules.data_dependent(span, message, related or _returned(session, recorder), ())
    message = f"forward() returns {unknown}, which generated code cannot make"
    advice = "return tensors, in tuples, lists, dicts or dataclasses (`use_cache=False` for a language model)"
    return rules.unsupported_construct(span, message, _returned(session, recorder), (), advice)


def _is_sized_by_data(value: object) -> bool:
    if isinstance(value, tuple | list):
        return any(map(_is_sized_by_data, value))
    return isinstance(value, torch.Tensor) and any(map(is_sized_by_data, value.shape))


def _returned(session: Session, recorder: Recorder) -> tuple[Related, ...]:
    returned = recorder.calls.returned
    return () if returned is None or returned.place is None else _at(session, returned.place, "returned here")


def _at(session: Session, place: Place, message: str) -> tuple[Related, ...]:
    return (Related(failures.span_of(place, session.request.base, session.sources), message),)


def _related(session: Session, recorder: Recorder, node: Node, message: str) -> tuple[Related, ...]:
    """The user's own innermost place that issued a node."""
    issue = recorder.issues.get(issue_of(node) or 0)
    return () if issue is None else _at_issue(session, recorder, issue, message)


def _at_issue(session: Session, recorder: Recorder, issue: Issue, message: str) -> tuple[Related, ...]:
    return at_stack(session, recorder, issue.stack, message)


def at_stack(session: Session, recorder: Recorder, number: int, message: str) -> tuple[Related, ...]:
    """The user's own innermost place of a stack of positions; nothing for none."""
    if number == NONE:
        return ()
    positions = recorder.positions.all_positions()
    stack = [positions[index] for index in recorder.positions.all_stacks()[number]]
    own = [p for p in stack if not session.sources.is_installed(p.file)]
    for position in (own or stack)[-1:]:
        span = Span(
            failures.path_of(position.file, session.request.base, session.sources),
            position.line,
            position.column,
            position.end_line,
            position.end_column,
        )
        return (Related(span, message),)
    return ()


def compiling_matters(
    session: Session, model: torch.nn.Module, inputs: Inputs, recorder: Recorder
) -> tuple[Diagnostic, ...]:
    """The warning that forward() runs other ops when it is told otherwise; nobody is said to ask where it does not."""
    asked = recorder.calls.records[0].asks_compiling
    found = difference(session, model, inputs, recorder) if asked else None
    if found is None:
        recorder.forget_asking()
        return ()
    if session.request.chosen:
        return ()
    compiled = session.request.compiled
    how, other = ("compiled", "eager") if compiled else ("eager", "compiled")
    what = f"`{found.traced}()`" if found.traced else "nothing more"
    instead = f"`{found.other}()`" if found.other else f"{found.raised}" if found.raised else "nothing more"
    message = f"forward() asks whether it is being compiled, and runs other ops when it is {'not' if compiled else ''}"
    notes = (f"the trace is that of {how} runs: here {what}; in {other} ones {instead}",)
    issue = recorder.issues.get(found.moment)
    related = () if issue is None else _at_issue(session, recorder, issue, "the first difference")
    return (rules.compiling_changes_ops(session.request.model_span, message.rstrip(), related, notes),)


def losses(
    session: Session,
    model: torch.nn.Module,
    warned: Iterable[warnings.WarningMessage],
    recorder: Recorder,
    regions: Regions,
    state: State,
) -> Iterator[Diagnostic]:
    """What forward() does that the trace does not hold."""
    span = session.request.model_span
    tensors = list(_lost_tensors(model, warned))
    if tensors:
        names = ", ".join(tensors)
        message = f"forward() leaves a tensor in {names}, which is no buffer: generated code will not leave one there"
        yield rules.attribute_not_kept(span, message)
    yield from _changed(span, recorder, state)
    yield from _device_branches(session, recorder)
    for place in regions.enabled:
        yield rules.autocast_not_traced(span, _at(session, place, "the region"))
    for real, other in dict.fromkeys(recorder.calls.returned.replaced if recorder.calls.returned else ()):
        message = f"forward() returns a {real}; generated code returns a {other} with the same content"
        yield rules.result_type_changes(span, message, _returned(session, recorder))


def _changed(span: Span, recorder: Recorder, state: State) -> Iterator[Diagnostic]:
    """The plain attributes that forward() changes: those that it does not read, and those that `state` assigns."""
    read = {assignment.target for assignment in state.assignments}
    targets = dict.fromkeys(recorder.calls.target(change) for change in recorder.calls.changed)
    unread = [target for target in targets if target not in read]
    if unread:
        message = f"forward() changes {', '.join(unread)}, which generated code will not do unless it calls the module"
        yield rules.attribute_not_kept(span, message)
    steering = [target for target in targets if target in read]
    if steering:
        message = (
            f"forward() changes {', '.join(steering)}, and what it reads there is built in: a call that finds "
            "something else there than the traced one runs the original forward()"
        )
        yield rules.attribute_not_kept(span, message)


def _device_branches(session: Session, recorder: Recorder) -> Iterator[Diagnostic]:
    """The warnings about conditions that only the tracing device answers so."""
    request = session.request
    called = (record.code for record in recorder.calls.records if record.code is not None)
    for code in dict.fromkeys((*called, *recorder.positions.codes())):
        for found in branches(code, request.device):
            path = failures.shown_path(code.co_filename, request.base, session.sources)
            span = Span(path, found.line, found.column, found.end_line, found.end_column)
            message = (
                f"{code.co_qualname}() asks `{found.text}`, which the tracing device answers unlike {request.device}"
            )
            yield rules.device_decides(request.model_span, message, (Related(span, "here"),))


def _lost_tensors(model: torch.nn.Module, warned: Iterable[warnings.WarningMessage]) -> Iterator[str]:
    """The attributes that torch.export saw another tensor in; not the weights that an RNN lists a second time."""
    own = {
        f"self.{path}._flat_weights[" if path else "self._flat_weights["
        for path, module in model.named_modules()
        if isinstance(module, torch.nn.RNNBase)
    }
    for warning in warned:
        match = _LOST.match(str(warning.message))
        for name in match[1].split(", ") if match is not None else ():
            if not name.startswith(tuple(own)):
                yield name
