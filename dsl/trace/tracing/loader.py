"""Importing the user's model."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import operator
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from streamsched.dsl.diagnostic import Diagnostic, Related, Span
from streamsched.dsl.nearest import did_you_mean
from streamsched.dsl.saying import exit_code, said
from streamsched.dsl.trace import collective_rules, model_rules
from streamsched.dsl.trace.request import TraceRequest
from streamsched.dsl.trace.sources import Sources
from streamsched.dsl.trace.tracing import failures, world
from streamsched.dsl.trace.tracing.accelerator import on_meta
from streamsched.dsl.trace.tracing.collectives import copy_model
from streamsched.dsl.trace.tracing.frames import Internals
from streamsched.dsl.trace.tracing.npu_stub import npu_runs
from streamsched.dsl.trace.tracing.streams import Streams
from streamsched.dsl.trace.tracing.traps.asked import Asked
from streamsched.dsl.trace.tracing.traps.autocast import Regions


@dataclass(frozen=True, slots=True)
class Session:
    """What the steps of one trace share."""

    request: TraceRequest
    sources: Sources
    internals: Internals
    verbose: bool
    regions: Regions = field(default_factory=Regions)  # of autocast, that were entered since
    streams: Streams = field(default_factory=Streams)  # of the model's own
    rank_asked: Asked = field(default_factory=Asked)

    def related(self, error: BaseException) -> tuple[Related, ...]:
        """The place in the user's code that an exception came from."""
        return failures.where(error, self.request.base, self.sources, self.internals)

    def notes(self, error: BaseException) -> tuple[str, ...]:
        """The traceback, where the user asked for it."""
        return failures.full_traceback(error, self.verbose)


def is_file(name: str) -> bool:
    """Whether the part before the colon names a file, and no package."""
    return name.endswith(".py") or "/" in name


def load_model(session: Session, device: str = "meta") -> torch.nn.Module | Diagnostic:
    """The model of the request, in evaluation mode, built under `device`; on the meta device all of it."""
    with on_meta() if device == "meta" else contextlib.nullcontext():
        return _loaded(session, device)


def _loaded(session: Session, device: str) -> torch.nn.Module | Diagnostic:
    request = session.request
    lacking = load_fakes(session)
    if lacking is not None:
        return lacking
    found = find_attribute(session, request.file, request.attribute, request.model_span)
    if isinstance(found, Diagnostic):
        return found
    target = found.value
    if not isinstance(target, torch.nn.Module):
        target = _build(session, target, device)
    if isinstance(target, Diagnostic):
        return target
    # A schedule is for inference: dropout must not draw, batch norm must not count.
    return (_on_meta(target) if device == "meta" else target).eval()


def load_fakes(session: Session) -> Diagnostic | None:
    """Import what registers fake implementations; where torch_npu itself runs, its own are there."""
    request = session.request
    if not request.fakes or npu_runs():
        return None
    made = _module(session, request.fakes, request.fakes_span or request.model_span)
    if isinstance(made, Diagnostic):
        return made
    if getattr(made, "__file__", None) is None:
        span = request.fakes_span or request.model_span
        return model_rules.model_not_found(span, f"{request.fakes} is a folder", "name a file of Python code")
    return None


def _build(session: Session, target: object, device: str) -> torch.nn.Module | Diagnostic:
    request = session.request
    spelled = f'"{request.file}:{request.attribute}"'
    if not callable(target):
        return model_rules.not_a_module(request.model_span, f"{spelled} is {kind(target)}, not a torch.nn.Module")
    missing = required(target)
    if missing:
        return model_rules.not_a_module(
            request.model_span, f"{spelled} cannot be called without its argument `{missing[0]}`"
        )
    try:
        with torch.device(device), torch.no_grad():
            built = target()
    except (Exception, SystemExit) as error:
        return raised(session, error, request.model_span, f"{spelled} cannot be built")
    if not isinstance(built, torch.nn.Module):
        return model_rules.not_a_module(request.model_span, f"{spelled} returns {kind(built)}, not a torch.nn.Module")
    return built


def kind(value: object) -> str:
    """What an object is, in words: "an int"."""
    name = type(value).__name__
    if value is None:
        return "None"
    return f"{'an' if name[0] in 'aeioAEIO' else 'a'} {name}"


def required(target: Any) -> list[str]:
    """The parameters that a callable cannot be called without."""
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return []
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in parameters if p.default is p.empty and p.kind not in variadic]


def _on_meta(model: torch.nn.Module) -> torch.nn.Module:
    """The model itself if all its tensors are on the meta device, else a copy of it that is."""
    tensors = {id(t): t for t in _tensors(model)}
    if all(t.device.type == "meta" for t in tensors.values()):
        return model
    memo: dict[int, Any] = {key: _to_meta(tensor) for key, tensor in tensors.items()}
    return copy_model(model, memo)


def _to_meta(tensor: torch.Tensor) -> torch.Tensor:
    moved = tensor.detach().to("meta")
    if isinstance(tensor, torch.nn.Parameter):
        return torch.nn.Parameter(moved, requires_grad=tensor.requires_grad)
    return moved


def _tensors(model: torch.nn.Module) -> list[torch.Tensor]:
    found = [*model.parameters(), *model.buffers()]
    for module in model.modules():
        found += [value for value in vars(module).values() if isinstance(value, torch.Tensor)]
    return found


@dataclass(frozen=True, slots=True)
class Found:
    """An attribute that was found; it may be anything, a Diagnostic too."""

    value: Any


def find_attribute(session: Session, file: str, attribute: str, span: Span) -> Found | Diagnostic:
    """The attribute `attribute` of the file or package `file`, which is imported for it."""
    module = _module(session, file, span)
    if isinstance(module, Diagnostic):
        return module
    try:
        return Found(operator.attrgetter(attribute)(module))
    except AttributeError:
        names = [name for name in vars(module) if not name.startswith("_")]
        return model_rules.model_not_found(
            span, f"{file} has no attribute `{attribute}`", did_you_mean(attribute, names)
        )


def _module(session: Session, name: str, span: Span) -> ModuleType | Diagnostic:
    try:
        return _import_file(session, name, span) if is_file(name) else _import_package(name, span)
    except (Exception, SystemExit) as error:
        return raised(session, error, span, f"importing {name} fails")


def _import_package(name: str, span: Span) -> ModuleType | Diagnostic:
    if not all(part.isidentifier() for part in name.split(".")):
        return model_rules.model_not_found(
            span, f"`{name}` names no module", 'write "model.py:build" or "package.module:build"'
        )
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name == error.name or name.startswith(error.name + ".")):
            raise  # the model's own import failed
        return model_rules.model_not_found(
            span, f"there is no module `{error.name}`", "a file is written with its `.py`"
        )


def _import_file(session: Session, name: str, span: Span) -> ModuleType | Diagnostic:
    path = Path(session.request.base, name)
    if not path.is_file():
        siblings = [p.name for p in path.parent.glob("*.py")]
        kind = "a folder" if path.is_dir() else "no regular file" if path.exists() else "not there"
        return model_rules.model_not_found(span, f"{path} is {kind}", did_you_mean(path.name, siblings))
    dotted = _dotted(Path(name), Path(session.request.base))
    if dotted is not None:
        return importlib.import_module(dotted)
    sys.path.insert(1, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None, path
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _dotted(name: Path, base: Path) -> str | None:
    """The importable name of a file in a package; None for one that stands alone."""
    folders = list(name.parts[:-1])
    if not folders or not all(
        (base.joinpath(*folders[: i + 1]) / "__init__.py").is_file() for i in range(len(folders))
    ):
        return None
    return ".".join([*folders, name.stem])


def raised(session: Session, error: BaseException, span: Span, what: str) -> Diagnostic:
    """The finding that the user's code raised or exited while `what` was being done."""
    related, notes = session.related(error), session.notes(error)
    if isinstance(error, SystemExit):
        return model_rules.model_exits(span, f"{what}: it exits (code {exit_code(error.code)})", related, notes)
    if world.is_wanting(said(error)) and not session.request.world:
        message = f"{what} without a process group"
        return collective_rules.world_missing(session.request.schedule_span, message, related, notes)
    return model_rules.model_raises(span, f"{what}: {failures.cause(error)}", related, notes)
