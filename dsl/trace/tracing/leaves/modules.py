"""The modules that `leaf` statements name, and the leaves to propose where there should be some."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import torch

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.globs import compile_glob
from streamsched.dsl.nearest import did_you_mean
from streamsched.dsl.trace import leaf_rules
from streamsched.dsl.trace.request import LeafRequest
from streamsched.dsl.trace.tracing.leaves.ops import Leaf, Leaves
from streamsched.dsl.trace.tracing.loader import Session, find_attribute


def load_leaves(session: Session, root: torch.nn.Module) -> Leaves | Diagnostic:
    """The leaves of the request among the modules of `root`; a module that two statements match is the first's."""
    found: dict[int, Leaf] = {}
    for request in session.request.leaves:
        matching = _matching(root, request.glob)
        if not matching:
            return _matches_nothing(root, request)
        shape = None
        if request.shape is not None:
            given = find_attribute(session, *request.shape, request.span)
            if isinstance(given, Diagnostic):
                return given
            shape = _taking_all(given.value)
        for path, module in matching.items():
            if module._forward_hooks:
                message = f"the leaf `{path}` has a forward hook, which would run after its op"
                return leaf_rules.unsuitable_leaf(request.span, message, (), "do in forward() what the hook does")
            found.setdefault(id(module), Leaf(path, module, request, shape))
    return Leaves(root, tuple(found.values()))


def _taking_all(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that takes what a forward() does: one without a signature, as `torch.empty_like`, gets the first."""
    try:
        inspect.signature(function)
    except ValueError:
        return lambda *args, **kwargs: function((*args, *kwargs.values())[0])
    return function


def _matching(root: torch.nn.Module, glob: str) -> dict[str, torch.nn.Module]:
    pattern = compile_glob(glob)
    return {path: module for path, module in root.named_modules() if path and pattern.fullmatch(path)}


def _matches_nothing(root: torch.nn.Module, request: LeafRequest) -> Diagnostic:
    paths = [path for path, _ in root.named_modules() if path]
    known = did_you_mean(request.glob, dict.fromkeys([*paths, *map(_starred, paths)]))
    shown = ", ".join(paths[:4]) + (", ..." if len(paths) > 4 else "")
    advice = known or (f"its modules are {shown}" if paths else "the model has no modules in it")
    return leaf_rules.leaf_matches_nothing(request.span, f'no module matches `leaf "{request.glob}"`', advice)


def _starred(path: str) -> str:
    return re.sub(r"(?<=\.)\d+(?=\.|$)", "*", path)


def glob_for(root: torch.nn.Module, path: str) -> str:
    """A glob that matches the module at `path`, and those of its class that differ from it in numbers alone."""
    glob = _starred(path)
    modules = dict(root.named_modules())
    same = all(type(module) is type(modules[path]) for module in _matching(root, glob).values())
    return glob if same else path
