"""The names of attributes that the code of a module mentions: others are equal to what it computes by chance only."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType, FunctionType, MethodType
from typing import Any

import torch


def names_read(parts: Sequence[torch.nn.Module]) -> frozenset[str]:
    """All names and texts in the forward() of modules, and in what they call as far as that can be told: methods,
    properties, hooks, and functions outside of torch, also those kept in a table."""
    names: set[str] = set()
    waiting = [function for part in parts for function in _starts(part)]
    seen: set[CodeType] = set()
    while waiting:
        function = waiting.pop()
        if function.__code__ in seen:
            continue
        seen.add(function.__code__)
        mentioned = set(_mentioned(function.__code__))
        waiting += _called(function, mentioned)
        waiting += [each for part in parts for name in mentioned for each in _methods(part, name, mentioned)]
        names |= mentioned
    return frozenset(names)


def _starts(part: torch.nn.Module) -> Iterator[FunctionType]:
    hooks = (*part._forward_pre_hooks.values(), *part._forward_hooks.values())
    for value in (part.forward, *hooks):
        yield from _functions(value)


def _mentioned(code: CodeType) -> Iterator[str]:
    """Names of attributes and globals, and texts, as `getattr(self, "scale")` has them, of nested functions too."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, CodeType):
            yield from _mentioned(constant)


def _called(function: FunctionType, mentioned: set[str]) -> Iterator[FunctionType]:
    """Functions that are globals of `function`, or bound where it was defined, those of torch left out."""
    for value in (*_bound(function), *(function.__globals__.get(name) for name in mentioned)):
        held = list(value.values()) if isinstance(value, Mapping) else [value]
        yield from (each for item in held for each in _functions(item) if not _is_of_torch(each))


def _bound(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # nothing is in it yet
            yield cell.cell_contents


def _methods(part: torch.nn.Module, name: str, mentioned: set[str]) -> Iterator[FunctionType]:
    """What `name` is of a module, where that is code: the nearest definition, or all where `super` is mentioned."""
    found = [vars(cls)[name] for cls in type(part).__mro__ if name in vars(cls)]
    for value in (vars(part).get(name), *(found if "super" in mentioned else found[:1])):
        yield from (each for each in _functions(value) if name == "forward" or not _is_of_torch(each))


def _functions(value: Any) -> Iterator[FunctionType]:
    """The Python function in a function, method, property or partial; one that a decorator holds is bound in it."""
    while isinstance(value, functools.partial | functools.partialmethod):
        value = value.func
    if isinstance(value, property):
        value = value.fget
    if isinstance(value, functools.cached_property):
        value = value.func
    if isinstance(value, MethodType | classmethod | staticmethod):
        value = value.__func__
    if isinstance(value, functools._lru_cache_wrapper):
        value = value.__wrapped__
    if isinstance(value, FunctionType):
        yield value


def _is_of_torch(function: FunctionType) -> bool:
    return (function.__module__ or "").split(".")[0] == "torch"
