"""Why torch refused to trace a model, in people's words."""

from __future__ import annotations

import re
from types import CodeType

from torch.nn.parameter import is_lazy

from streamsched.dsl.diagnostic import Diagnostic, Related, Span
from streamsched.dsl.saying import exit_code, said
from streamsched.dsl.trace import collective_rules, model_rules, refusal_rules
from streamsched.dsl.trace.request import TraceRequest
from streamsched.dsl.trace.tracing import failures, world
from streamsched.dsl.trace.tracing.leaves import remedies
from streamsched.dsl.trace.tracing.leaves.ops import UnsuitableLeafError
from streamsched.dsl.trace.tracing.loader import Session
from streamsched.dsl.trace.tracing.provenance.recorder import Recorder

_DATA_DEPENDENT = frozenset(
    [
        "GuardOnDataDependentSymNode",
        "DataDependentOutputException",
        "DynamicOutputShapeException",
        "UserErrorDataDependent",
        "PendingUnbackedSymbolNotFound",
    ]
)
_DATA_WORDS = ("data-dependent", "data dependent", "Cannot call item() on", "meta tensors", "no data", "unbacked")
_C10D_NODE = re.compile(r"Node\.meta (\w+?)(?:_\d+)? has invalid val field .*ScriptObject", re.DOTALL)
_DIFFERENTIABLE = re.compile(r"torch\.distributed\.nn\.functional\.\w+ is not supported")
_UNKNOWN_RESULT = re.compile(r"Found <class '(.*?)'> in output, which is not a known type")
_OPERATOR = re.compile(r"Higher Order Operator: (\S+)")
_DEVICE_ADVICE = "add `device=x.device` where the tensor is made, `x` being an input; or register it as a buffer"
_MOVES_WORDS = ("support for cuda devices", "compiled with CUDA", "aten._pin_memory", "start of device string: npu")
_MOVES_ADVICE = (
    "a trace has no host and no accelerator: name no device but that of an input, `x.device`, and let the caller make "
    "copies from the host, and give them to forward()"
)
_CONVERTS_ADVICE = "convert the model before it is traced, and leave the weights alone in forward()"
_LAZY_ADVICE = (
    "call the model once, with inputs of the sizes that it is for, where it is built: "
    "`model = Model(); model(torch.zeros(4, 8)); return model`; or make the module with its sizes"
)
NO_SEQUENCE = "which does not trace into one sequence of ops"
_CONSTRUCT_WORDS = (
    "higher order",
    "HigherOrderOperator",
    "unsupported",
    "Unsupported",
)


def refusal(session: Session, recorder: Recorder, error: BaseException) -> Diagnostic:
    """The diagnostic of an exception that left torch.export."""
    error = failures.meant(error)
    related = _where(session, recorder.code, error)
    notes = session.notes(error)
    at = _statement_words(related)
    if isinstance(error, SystemExit):
        message = f"forward() exits (code {exit_code(error.code)}){at}"
        return model_rules.model_exits(session.request.model_span, message, related, notes)
    chain = _chain(error)
    leaf = next((e for e in chain if isinstance(e, UnsuitableLeafError)), None)
    if leaf is not None:
        return remedies.unsuitable(leaf, related)
    text = " ".join(said(e) for e in chain)
    return (
        remedies.missing_fake(session, recorder, chain, related, notes)
        or _communication(session, text, related, notes)
        or _blind(session, recorder, error, related, notes)
        or _foreign(session, recorder, error, related, notes)
        or _construct(session, recorder, error, related, notes)
        or _raised(session, recorder, error, related, notes)
    )


def _blind(
    session: Session, recorder: Recorder, error: BaseException, related: tuple[Related, ...], notes: tuple[str, ...]
) -> Diagnostic | None:
    """That the model's Python looks at data, if it was that."""
    if not depends_on_data(error):
        return None
    chain = _chain(error)
    message = f"what forward() does{_statement_words(related)} depends on the data of a tensor"
    return remedies.blind_leaf(recorder, chain, related, notes) or refusal_rules.data_dependent(
        session.request.model_span, message, related, notes, remedies.leaf_instead(session, recorder, chain)
    )


def _foreign(
    session: Session, recorder: Recorder, error: BaseException, related: tuple[Related, ...], notes: tuple[str, ...]
) -> Diagnostic | None:
    """A result of a class, or a tensor on a device, that does not belong there, if it was that."""
    chain = _chain(error)
    unknown = _UNKNOWN_RESULT.search(" ".join(said(e) for e in chain))
    if unknown is not None:
        return _unknown_result(session, recorder, unknown[1], notes)
    if any(type(e).__name__ == "FakeTensorDeviceMismatchError" for e in chain):
        reason = failures.cause(error).partition(": ")[2]
        message = f"forward() mixes tensors of two devices{_statement_words(related)}: {reason}"
        return refusal_rules.forward_raises(session.request.model_span, message, related, notes, _DEVICE_ADVICE)
    return None


def _construct(
    session: Session, recorder: Recorder, error: BaseException, related: tuple[Related, ...], notes: tuple[str, ...]
) -> Diagnostic | None:
    """What torch.export does not take, if it was that."""
    span = session.request.model_span
    chain = _chain(error)
    text = " ".join(said(e) for e in chain)
    at = _statement_words(related)
    operator = _OPERATOR.search(text)
    if operator is not None:
        message = f"forward() uses `{operator[1]}`{at}, {NO_SEQUENCE}"
        fix = remedies.leaf_instead(session, recorder, chain)
        return remedies.blind_leaf(recorder, chain, related, notes) or refusal_rules.unsupported_construct(
            span, message, related, notes, remedies.LEAF_ADVICE, fix
        )
    if "uninitialized parameter" in text:
        return refusal_rules.unsupported_construct(span, _lazy_words(recorder), related, notes, _LAZY_ADVICE)
    if "Couldn't swap" in text:
        message = f"forward() converts the weights of a module{at}"
        return refusal_rules.unsupported_construct(span, message, related, notes, _CONVERTS_ADVICE)
    if not related or any(word in text for word in _CONSTRUCT_WORDS):
        message = f"forward() cannot be traced{at}: {_in_words(text) or failures.cause(error)}"
        return refusal_rules.unsupported_construct(span, message, related, notes)
    return None


def _raised(
    session: Session, recorder: Recorder, error: BaseException, related: tuple[Related, ...], notes: tuple[str, ...]
) -> Diagnostic:
    chain = _chain(error)
    told = (
        remedies.wrong_shape(recorder, chain)
        or remedies.picky_kernel(session, recorder, chain)
        or remedies.meta_refused(session, recorder, chain)
        or (_MOVES_ADVICE if any(word in said(e) for e in chain for word in _MOVES_WORDS) else None)
        or remedies.no_data(session, recorder, chain)
    )
    message = f"forward() raises{_statement_words(related)}: {failures.cause(error)}"
    return refusal_rules.forward_raises(_blamed(session.request), message, related, notes, told)


def _blamed(request: TraceRequest) -> Span:
    """The statement that a call which raises is put down to: that of the model, unless an option gives its inputs."""
    given, model = request.inputs_span, request.model_span
    return given if given is not None and given.file != model.file == request.schedule_span.file else model


def _communication(
    session: Session, text: str, related: tuple[Related, ...], notes: tuple[str, ...]
) -> Diagnostic | None:
    """What torch refused about the communication of a model, if it was that."""
    span = session.request.model_span
    at = _statement_words(related)
    if world.is_wanting(text) and not session.request.world:
        message = f"forward() needs a process group{at}"
        return collective_rules.world_missing(session.request.schedule_span, message, related, notes)
    if "async version of inplace op" in text or "distributed_c10d.Work" in text:
        message = f"forward() calls a collective with `async_op=True`{at}"
        return collective_rules.async_collective(span, message, related, notes)
    in_place = _C10D_NODE.search(text)
    if in_place is not None:
        message = f"forward() calls `dist.{in_place[1].rstrip('_')}`, whose result torch.export cannot tell"
        return collective_rules.collective_not_traced(span, message, related, notes)
    if _DIFFERENTIABLE.search(text):
        message = f"forward() calls a differentiable collective{at}"
        return collective_rules.collective_not_traced(span, message, related, notes)
    return None


def depends_on_data(error: BaseException) -> bool:
    """Whether an exception came of the model looking at the data of a tensor."""
    chain = _chain(error)
    text = " ".join(said(e) for e in chain)
    return any(type(e).__name__ in _DATA_DEPENDENT for e in chain) or any(word in text for word in _DATA_WORDS)


def _unknown_result(session: Session, recorder: Recorder, cls: str, notes: tuple[str, ...]) -> Diagnostic:
    """The finding that forward() returns an object that torch.export does not look into."""
    returned = recorder.calls.returned
    related: tuple[Related, ...] = ()
    if returned is not None and returned.place is not None:
        span = failures.span_of(returned.place, session.request.base, session.sources)
        related = (Related(span, "returned here"),)
    name = cls.rpartition(".")[2]
    message = f"forward() returns a {cls}, a class that torch.export does not know"
    advice = (
        "return tensors, in tuples, lists or dicts; or, if it is a dataclass, write "
        f"`torch.export.register_dataclass({name})` after its definition"
    )
    return refusal_rules.unsupported_construct(session.request.model_span, message, related, notes, advice)


def _chain(error: BaseException) -> list[BaseException]:
    """An exception with those that caused it."""
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in chain:
        chain.append(current)
        current = current.__cause__ or current.__context__
    return chain


def _where(session: Session, forward: CodeType | None, error: BaseException) -> tuple[Related, ...]:
    """The user's innermost place that an exception passed through, and the statement of forward() that led there."""
    innermost = session.related(error)
    outer: tuple[Related, ...] = ()
    for place in failures.places(error):
        if place.code is forward:
            span = failures.span_of(place, session.request.base, session.sources)
            outer = (Related(span, "called from here"),)
            break
    if not innermost or (outer and outer[0].span == innermost[0].span):
        return tuple(Related(related.span, "here") for related in outer) or innermost
    return (*innermost, *outer)


def _statement_words(related: tuple[Related, ...]) -> str:
    return f" at {related[0].span.file}:{related[0].span.line}" if related else ""


def _lazy_words(recorder: Recorder) -> str:
    """That parameters have no shapes yet, and those of which module."""
    lazy = (
        f": `{path}` is a {type(module).__name__}"
        for path, module in recorder.leaves.root.named_modules()
        if any(map(is_lazy, module.parameters(recurse=False)))
    )
    return f"the model has parameters without a shape, which a first call gives them{next(lazy, '')}"


def _in_words(text: str) -> str | None:
    """What is meant by a message of torch's own machinery, where that is known."""
    if "Unexpected key _export_root" in text:
        return "an exception leaves the forward() of one module and is caught in another"
    return None
