"""What the modules in scope are called with: the model runs once, on the meta device, and each call is noted."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch._export.utils import _compiling_state_context

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.trace import collective_rules, refusal_rules
from streamsched.dsl.trace.tracing import failures
from streamsched.dsl.trace.tracing.dims.symbols import Dims
from streamsched.dsl.trace.tracing.example_inputs import Inputs, load_inputs
from streamsched.dsl.trace.tracing.known import KnownNumbers
from streamsched.dsl.trace.tracing.leaves.ops import Leaves
from streamsched.dsl.trace.tracing.loader import Session
from streamsched.dsl.trace.tracing.provenance.calls import forward_code
from streamsched.dsl.trace.tracing.refusals import depends_on_data
from streamsched.dsl.trace.tracing.scope.copies import Copying, MetaTensors
from streamsched.dsl.trace.tracing.state.attributes import unchanged
from streamsched.dsl.trace.tracing.traps import compiling


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a module in scope. The containers and objects in `inputs` are as they were then; its tensors are the
    model's own, so that what was one tensor still is."""

    path: str
    module: torch.nn.Module
    inputs: Inputs
    casting: bool = False  # whether autocast casts around it


class _CopyError(Exception):
    """An argument of the module at `path` cannot be copied."""

    def __init__(self, path: str, cause: Exception) -> None:
        super().__init__(path)
        self.path = path
        self.cause = cause


Export = Callable[[torch.nn.Module, Inputs], Diagnostic | None]
"""Has torch.export trace a module; or says why it does not trace."""


def capture(
    session: Session,
    model: torch.nn.Module,
    leaves: Leaves,
    inputs: Inputs,
    modules: dict[str, torch.nn.Module],
    export: Export,
    dims: Dims | None = None,
) -> list[Call] | Diagnostic:
    """Every call of `modules` in one forward() of the model, which then is as it was; `inputs` may not be.

    To run the model is far faster than to trace it. What does not run without data may trace nevertheless, with inputs
    made anew, of the sizes in `dims`: those of the run may hold what it stored before it failed.
    """
    calls: list[Call] = []
    try:
        with (
            leaves.replaced(model),
            unchanged(model),
            _noting(session, model, modules, calls),
            _running(session, inputs),
        ):
            model(*inputs.args, **inputs.kwargs)
    except _CopyError as error:
        return _cannot_copy(session, error)
    except (Exception, SystemExit) as error:
        made = load_inputs(session, model, dims)
        traced = made if isinstance(made, Diagnostic) else _capture_by_export(session, model, made, modules, export)
        return _with_first(traced, error) if isinstance(traced, Diagnostic) else traced
    return calls


def _with_first(found: Diagnostic, error: BaseException) -> Diagnostic:
    """The finding of the trace, with the exception of the run before it where that is another than want of data."""
    cause = failures.cause(error)
    if depends_on_data(error) or cause in found.message:
        return found
    return dataclasses.replace(
        found, notes=(*found.notes, f"before it was traced, forward() was run, and raised {cause}")
    )


def _capture_by_export(
    session: Session, model: torch.nn.Module, inputs: Inputs, modules: dict[str, torch.nn.Module], export: Export
) -> list[Call] | Diagnostic:
    calls: list[Call] = []
    with unchanged(model), _noting(session, model, modules, calls), _naming(session):
        failed = export(model, inputs)
    if failed is not None:
        return failed
    tensors = MetaTensors()
    try:
        return [_on_meta(call, tensors) for call in calls]
    except _CopyError as error:
        return _cannot_copy(session, error)


def _on_meta(call: Call, tensors: MetaTensors) -> Call:
    """The call with the tensors of a trace replaced by those of its own."""
    try:
        with Copying(tensors.of):
            args, kwargs = copy.deepcopy((call.inputs.args, call.inputs.kwargs))
    except Exception as error:
        raise _CopyError(call.path, error) from error
    return Call(call.path, call.module, Inputs(args, kwargs), call.casting)


def _cannot_copy(session: Session, error: _CopyError) -> Diagnostic:
    if "ProcessGroup" in str(error.cause):
        message = f"`{error.path}`, which is in scope, is given a process group by the model around it"
        return collective_rules.group_not_reachable(session.request.model_span, message, ())
    message = f"the arguments of `{error.path}` cannot be kept for its own trace: {error.cause}"
    return refusal_rules.unsupported_construct(session.request.model_span, message, (), ())


@contextlib.contextmanager
def _running(session: Session, inputs: Inputs) -> Iterator[None]:
    """Run the model as a trace does: without gradients, and with the answers that a trace gives."""
    answered = compiling.answered(session.internals, session.request.compiled, lambda _: None)
    with _naming(session), torch.no_grad(), _compiling_state_context(), answered, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with inputs.known or KnownNumbers():
            yield


@contextlib.contextmanager
def _naming(session: Session) -> Iterator[None]:
    """Name the files that the called modules come from: they have a part in what the trace will be."""

    def named(module: torch.nn.Module, _: Any) -> None:
        if torch.compiler.is_dynamo_compiling():  # in a branch of torch.cond
            return
        code = forward_code(module)
        if code is not None and code.co_filename not in session.internals:
            session.sources.key(code.co_filename)

    handle = torch.nn.modules.module.register_module_forward_pre_hook(named)
    try:
        yield
    finally:
        handle.remove()


@contextlib.contextmanager
def _noting(
    session: Session, model: torch.nn.Module, modules: dict[str, torch.nn.Module], calls: list[Call]
) -> Iterator[None]:
    """Append each call of the modules to `calls`, behind their own forward pre-hooks."""
    kept = {id(item): item for item in (*model.modules(), *model.parameters(), *model.buffers())}

    def note(path: str, module: torch.nn.Module, args: Any, kwargs: Any) -> None:
        if torch.compiler.is_dynamo_compiling():  # what a branch calls is part of the op
            return
        try:
            with Copying(lambda tensor: tensor):
                args, kwargs = copy.deepcopy((args, kwargs), dict(kept))
        except Exception as error:
            raise _CopyError(path, error) from error
        calls.append(Call(path, module, Inputs(args, kwargs), session.regions.casting))

    def hook(path: str) -> Any:
        return lambda module, args, kwargs: note(path, module, args, kwargs)

    handles = [m.register_forward_pre_hook(hook(path), with_kwargs=True) for path, m in modules.items()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
