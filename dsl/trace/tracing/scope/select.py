"""The modules that a `scope` statement selects."""

from __future__ import annotations

import torch

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.globs import compile_glob
from streamsched.dsl.nearest import did_you_mean, nearest, nearest_paths
from streamsched.dsl.trace import scope_rules
from streamsched.dsl.trace.request import ScopeRequest

_SHOWN = 8


def select(model: torch.nn.Module, scope: ScopeRequest) -> dict[str, torch.nn.Module] | Diagnostic:
    """The modules by their path from the model, each once, in the order of their definition; never the model itself."""
    pattern = compile_glob(scope.glob)
    every = {path: module for path, module in model.named_modules(remove_duplicate=False) if path}
    matched = {path: module for path, module in every.items() if pattern.fullmatch(path)}
    if not matched:
        return _no_path(scope, list(every))
    chosen = {path: module for path, module in matched.items() if is_of_class(module, scope.class_name)}
    if not chosen:
        return _no_class(scope, matched)
    first = {id(module): path for path, module in reversed(chosen.items())}
    unique = {path: module for path, module in chosen.items() if first[id(module)] == path}
    return _overlap(scope, unique) or unique


def is_of_class(module: torch.nn.Module, name: str) -> bool:
    """Whether a module is of the class called `name`; any will do where that is empty."""
    return not name or type(module).__name__ == name


def _no_path(scope: ScopeRequest, paths: list[str]) -> Diagnostic:
    glob = _nearest_glob(scope.glob, paths)
    near = [glob] if glob is not None else nearest_paths(scope.glob, paths)
    advice = f"did you mean `{near[0]}`?" if near else f"there are {shown(paths)}" if paths else "leave it out"
    notes = (f"nearest: {', '.join(near)}",) if len(near) > 1 else ()
    return scope_rules.scope_matches_nothing(scope.span, f'`scope "{scope.glob}"` matches no module', notes, advice)


def _nearest_glob(glob: str, paths: list[str]) -> str | None:
    """The glob below a module of the model, or with the nearest names in place of those that no path has; None where
    that matches nothing either."""
    segments = {segment for path in paths for segment in path.split(".")}
    plain = (segment if not segment.isidentifier() else nearest(segment, segments) for segment in glob.split("."))
    renamed = ".".join(segment or "" for segment in plain)
    rows = (["*" if segment.isdigit() else segment for segment in path.split(".")] for path in paths)
    outer = dict.fromkeys(".".join(row[:depth]) for row in rows for depth in (1, 2))
    candidates = (*(f"{path}.{glob}" for path in outer), renamed, *(f"{path}.{renamed}" for path in outer))
    for candidate in candidates if any(mark in glob for mark in "*{") else ():
        if any(map(compile_glob(candidate).fullmatch, paths)):
            return candidate
    return None


def _no_class(scope: ScopeRequest, matched: dict[str, torch.nn.Module]) -> Diagnostic:
    classes = list(dict.fromkeys(type(module).__name__ for module in matched.values()))
    message = f'no module that matches "{scope.glob}" is a `{scope.class_name}`'
    advice = did_you_mean(scope.class_name, classes) or f"they are of class {shown(classes)}"
    return scope_rules.scope_matches_nothing(scope.span, message, (f"it matches {shown(list(matched))}",), advice)


def _overlap(scope: ScopeRequest, modules: dict[str, torch.nn.Module]) -> Diagnostic | None:
    outer_of = {id(part): path for path, module in modules.items() for part in module.modules() if part is not module}
    for path, module in modules.items():
        outer = outer_of.get(id(module))
        if outer is not None:
            message = f"`{path}` is in scope, and so is `{outer}`, which it lies in"
            return scope_rules.overlapping_scope(scope.span, message, ())
    return None


def shown(names: list[str]) -> str:
    """Some names in a row, and how many more there are."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(f"`{name}`" for name in names[:_SHOWN]) + more
