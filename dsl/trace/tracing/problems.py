"""What keeps an exported program from being a trace, and what a trace does not hold, in people's words."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.trace import collective_rules, leaf_rules, refusal_rules
from streamsched.dsl.trace.tracing import collectives
from streamsched.dsl.trace.tracing.arguments import instances, opaque
from streamsched.dsl.trace.tracing.assembly.assemble import Assembled
from streamsched.dsl.trace.tracing.assembly.effects import is_sized_by_data
from streamsched.dsl.trace.tracing.assembly.values import issue_of
from streamsched.dsl.trace.tracing.leaves import remedies
from streamsched.dsl.trace.tracing.loader import Session
from streamsched.dsl.trace.tracing.places import at, at_issue, at_node, returned
from streamsched.dsl.trace.tracing.provenance.issues import NOWHERE
from streamsched.dsl.trace.tracing.provenance.recorder import Recorder
from streamsched.dsl.trace.tracing.refusals import NO_SEQUENCE

_DTYPE_ADVICE = (
    "name the dtype: `.to(torch.float16)`; or cast explicitly instead of under autocast; or make a `leaf` of the "
    "module that asks"
)
_GROWN_ADVICE = (
    "let the inputs hold all that it needs from the start: `DynamicCache(config=config)` has its layers, "
    "`StaticCache` after `early_initialization()` its tensors, too"
)
_SIZES_ADVICE = "use `+ - * / // %`, min() and max()"
_STATE_ADVICE = "copy into the tensor that is there: `copy_()`"


def problems(
    session: Session, program: ExportedProgram, parts: Assembled, recorder: Recorder
) -> tuple[Diagnostic, ...]:
    """Why there is no trace; empty if there is one."""
    return (
        *_untraceable(session, parts, recorder),
        *_asked_dtypes(session, recorder),
        *_communication(session, program, parts, recorder),
        *_unspelled(session, parts, recorder),
        *_unprintable_leaves(session, parts, recorder),
        *_left_behind(session, parts, recorder),
        *_unknown_results(session, program, parts, recorder),
    )


def _untraceable(session: Session, parts: Assembled, recorder: Recorder) -> Iterator[Diagnostic]:
    """What holds more than one sequence of ops, or none of its own, and the constants that cannot be written out."""
    span = session.request.model_span
    named = [(node, f"`{str(node.target).removesuffix('_impl')}`, {NO_SEQUENCE}") for node in parts.unsupported]
    inside = sorted(parts.transformed, key=lambda node: issue_of(node) is None)[:1]
    named += [(node, f"torch.vmap or another transform of functions, {NO_SEQUENCE}") for node in inside]
    for node, name in named:
        issue = recorder.issues.get(issue_of(node) or 0, NOWHERE)
        fix = remedies.leaf_of(session, recorder, recorder.calls.records[issue.call].module)
        related = at_node(session, recorder, node, "here")
        message = f"forward() uses {name}"
        yield refusal_rules.unsupported_construct(span, message, related, (), remedies.LEAF_ADVICE, fix)
    for bad in parts.bad_constants:
        related = at_node(session, recorder, bad.node, "the constant is made here")
        yield refusal_rules.constant_without_values(span, bad.message, related)


def _asked_dtypes(session: Session, recorder: Recorder) -> Iterator[Diagnostic]:
    """The questions that autocast answers otherwise on the device."""
    for place in recorder.casts.asked:
        message = f"{place.code.co_qualname}() asks for the dtype of a tensor that autocast may have cast"
        related = at(session, place, "asked here")
        yield refusal_rules.dtype_under_autocast(session.request.model_span, message, related, _DTYPE_ADVICE)


def _unspelled(session: Session, parts: Assembled, recorder: Recorder) -> Iterator[Diagnostic]:
    """The numbers that generated code could not compute."""
    for node in parts.unspelled:
        message = "forward() computes a number from its sizes in a way that generated code cannot"
        related = at_node(session, recorder, node, "here")
        yield refusal_rules.unsupported_construct(session.request.model_span, message, related, (), _SIZES_ADVICE)


def _left_behind(session: Session, parts: Assembled, recorder: Recorder) -> Iterator[Diagnostic]:
    """What forward() leaves in its arguments and generated code could not."""
    span = session.request.model_span
    for grown in recorder.calls.reshaped:
        message = f"forward() adds to {grown} or takes from it, and generated code can only assign to what is there"
        yield refusal_rules.unsupported_construct(span, message, returned(session, recorder), (), _GROWN_ADVICE)
    for refused in parts.state.refused:
        yield refusal_rules.unsupported_construct(span, refused, returned(session, recorder), (), _STATE_ADVICE)


def _unprintable_leaves(session: Session, parts: Assembled, recorder: Recorder) -> Iterator[Diagnostic]:
    """The leaves whose call cannot be written out."""
    for call, record in zip(parts.calls, recorder.calls.records, strict=True):
        leaf = recorder.leaves.leaf(record.module)
        for argument in (*call.args, *(argument for _, argument in call.kwargs)) if leaf is not None else ():
            unknown = next(iter((*opaque(argument), *(f"a {item.type}" for item in instances(argument)))), None)
            if leaf is not None and unknown is not None:
                issues = [issue for issue in recorder.issues.values() if recorder.calls.records[issue.call] is record]
                related = at_issue(session, recorder, issues[-1], "called here") if issues else ()
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
            related = at_node(session, recorder, node, "here")
            yield collective_rules.collective_not_traced(span, message, related)
    if parts.communication.begun and not session.request.world:
        message = "forward() uses collectives, and the schedule does not say in how many ranks"
        yield collective_rules.world_missing(session.request.schedule_span, message, ())
    for node in parts.communication.unreachable:
        related = at_node(session, recorder, node, "the collective")
        yield collective_rules.group_not_reachable(span, _unreached(recorder, node), related)


def _unreached(recorder: Recorder, node: Node) -> str:
    """That the process group of a collective is not at hand, and where in the model it is."""
    what = f"the process group of `{node.name}`"
    whole, scope = recorder.leaves.root, recorder.root
    if whole is scope:
        return f"no attribute of the model holds {what}"
    place = collectives.Groups(whole).expression(collectives.name_of_group(node), "")
    path = next((path for path, module in whole.named_modules() if module is scope), "")
    elsewhere = f": it is in the model's `{place.removesuffix('.group_name')}`" if place else ""
    return f"no attribute of `{path}`, which is in scope, holds {what}{elsewhere}"


def _unknown_results(
    session: Session, program: ExportedProgram, parts: Assembled, recorder: Recorder
) -> Iterator[Diagnostic]:
    """What forward() returns and generated code could not, as far as nothing else explains it."""
    for unknown in () if parts.unsupported or parts.transformed else dict.fromkeys(opaque(parts.result)):
        yield _unknown_result(session, program, recorder, unknown)


def _unknown_result(session: Session, program: ExportedProgram, recorder: Recorder, unknown: str) -> Diagnostic:
    span = session.request.model_span
    for node in program.graph.nodes if unknown == "a tensor" else ():
        if _is_sized_by_data(node.meta.get("val")):
            related = at_node(session, recorder, node, "its size is known only when this has run")
            message = "the size of a tensor that forward() returns depends on the data of another"
            return refusal_rules.data_dependent(span, message, related or returned(session, recorder), ())
    message = f"forward() returns {unknown}, which generated code cannot make"
    advice = "return tensors, in tuples, lists, dicts or dataclasses (`use_cache=False` for a language model)"
    return refusal_rules.unsupported_construct(span, message, returned(session, recorder), (), advice)


def _is_sized_by_data(value: object) -> bool:
    if isinstance(value, tuple | list):
        return any(map(_is_sized_by_data, value))
    return isinstance(value, torch.Tensor) and any(map(is_sized_by_data, value.shape))
