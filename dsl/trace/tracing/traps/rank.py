"""Python that asks which rank it is: a model is traced as rank 0, and what it makes of the answer is built in."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.trace import collective_rules
from streamsched.dsl.trace.tracing.accessors import module_accessor
from streamsched.dsl.trace.tracing.arguments import literal
from streamsched.dsl.trace.tracing.leaves.ops import Leaves
from streamsched.dsl.trace.tracing.loader import Session, load_model
from streamsched.dsl.trace.tracing.places import at
from streamsched.dsl.trace.tracing.scope.names_read import names_read
from streamsched.dsl.trace.tracing.world import ranks

_METHODS = ((dist.ProcessGroup, "rank"), *((DeviceMesh, n) for n in ("get_rank", "get_local_rank", "get_coordinate")))


@contextlib.contextmanager
def watched(session: Session) -> Iterator[None]:
    """Note in the session where the rank is asked for while the context lasts. What a class of torch's asks for itself,
    as a DeviceMesh does, is not noted.
    """
    if not session.request.world or not dist.is_available():
        yield
        return

    def noting(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def ask(*args: Any, **kwargs: Any) -> Any:
            session.rank_asked.note(sys._getframe(1), session.internals)
            return function(*args, **kwargs)

        return ask

    functions = {getattr(dist, name) for name in ("get_rank", "get_group_rank", "get_node_local_rank")}
    replaced = {function: noting(function) for function in functions}
    methods = [(cls, name, vars(cls)[name]) for cls, name in _METHODS]
    _replace(replaced)
    for cls, name, _ in methods:
        setattr(cls, name, noting(getattr(cls, name)))
    try:
        yield
    finally:
        _replace({made: function for function, made in replaced.items()})
        for cls, name, function in methods:
            setattr(cls, name, function)


def _replace(functions: Mapping[Any, Any]) -> None:
    """Put other functions in place of these: in torch.distributed, and wherever they were imported from there."""
    modules: dict[str, object] = dict(sys.modules)  # some stand for modules that are not there
    for path, module in modules.items():
        if isinstance(module, ModuleType) and (path == "torch.distributed" or not path.startswith("torch.")):
            for name, value in list(vars(module).items()):
                if type(value) is FunctionType and value in functions:
                    setattr(module, name, functions[value])


def asked(session: Session) -> Iterator[Diagnostic]:
    """The warnings that forward() asks for its rank."""
    for place in session.rank_asked.places:
        message = f"{place.code.co_qualname}() asks for its rank, and is traced as rank 0 of {session.request.world}"
        yield collective_rules.rank_decides(session.request.model_span, message, at(session, place, "asked here"))


def held(session: Session, model: torch.nn.Module, scope: Iterable[str], leaves: Leaves) -> Iterator[Diagnostic]:
    """The warning that attributes which the modules at the paths in `scope` may read hold what depends on the rank: the
    model is built a second time, as another rank. Leaves read their own."""
    with ranks(session.request.world, rank=session.request.world - 1):
        other = load_model(session)
        if isinstance(other, Diagnostic):
            return
        differing = [text for path in scope for text in _differing(model, other, path, leaves)]
    if differing:
        last = session.request.world - 1
        message = f"the trace is that of rank 0, and holds what is another at rank {last}: {', '.join(differing[:4])}"
        yield collective_rules.rank_decides(session.request.model_span, message, ())


def _differing(model: torch.nn.Module, other: torch.nn.Module, path: str, leaves: Leaves) -> Iterator[str]:
    """The attributes that code in the module at `path` mentions and that hold different constants in both models."""
    top = model.get_submodule(path)
    names = names_read([part for part in top.modules() if not leaves.holds(part)])
    others = dict(other.named_modules())
    for below, module in top.named_modules():
        if leaves.holds(module):
            continue
        whole = ".".join(filter(None, (path, below)))
        its = vars(others[whole]) if whole in others else {}
        for name in names & vars(module).keys():
            mine, text = literal(vars(module)[name]), literal(its.get(name))
            if mine is not None and mine != text:
                yield f"`self{module_accessor(top, below)}.{name}` ({mine} and {text})"
