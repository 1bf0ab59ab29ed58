"""The Python expressions that reach modules, parameters and nested inputs."""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Mapping
from typing import Any

import torch

_DEPTH = 8


def attribute(name: str) -> str | None:
    """`.name`, where that is a valid spelling."""
    return f".{name}" if name.isidentifier() and not keyword.iskeyword(name) else None


def subscript(key: object) -> str:
    """`["key"]` or `[0]`."""
    text = repr(key)
    if isinstance(key, str) and '"' not in key and "\\" not in text:
        text = f'"{key}"'
    return f"[{text}]"


def module_accessor(root: torch.nn.Module, path: str) -> str:
    """The expression after the root that reaches the module at `path`: `.layers[0].mlp`."""
    accessor = _accessor(root, path.split(".") if path else [])
    return f'.get_submodule("{path}")' if accessor is None else accessor


def tensor_accessor(root: torch.nn.Module, path: str, getter: str) -> str:
    """The same for a parameter, a buffer or another tensor; `getter` is the method of last resort."""
    return _accessor(root, path.split(".")) or f'.{getter}("{path}")'


def _accessor(root: object, names: list[str]) -> str | None:
    expression = ""
    owner = root
    for name in names:
        step = _step(owner, name)
        if step is None:
            return None
        expression += step
        owner = getattr(owner, name, None)
    return expression


def _step(owner: object, name: str) -> str | None:
    if isinstance(owner, torch.nn.ModuleList | torch.nn.Sequential | torch.nn.ParameterList) and name.isdigit():
        return f"[{int(name)}]"
    if isinstance(owner, torch.nn.ModuleDict) and name in owner._modules:
        return subscript(name)
    if isinstance(owner, torch.nn.ParameterDict):
        return subscript(name)
    return attribute(name)


def nested_tensors(name: str, value: object) -> Iterator[tuple[str, torch.Tensor]]:
    """Every tensor in an input, with the expression that reaches it: `pair[0]`, `cache.layers[0].keys`."""
    yield from _nested(name, value, set(), 0)


def _nested(expression: str, value: Any, seen: set[int], depth: int) -> Iterator[tuple[str, torch.Tensor]]:
    if isinstance(value, torch.Tensor):
        yield expression, value
        return
    if depth >= _DEPTH or id(value) in seen or isinstance(value, str | bytes | int | float | type) or value is None:
        return
    seen.add(id(value))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        children = [(attribute(field) or "", getattr(value, field)) for field in value._fields]
    elif isinstance(value, list | tuple):
        children = [(f"[{index}]", item) for index, item in enumerate(value)]
    elif isinstance(value, Mapping) and type(value).__module__ in ("builtins", "collections"):
        children = [(subscript(key), item) for key, item in value.items()]
    elif hasattr(value, "__dict__"):
        children = [(step, item) for key, item in vars(value).items() if (step := attribute(key)) is not None]
    else:
        return
    for step, item in children:
        yield from _nested(expression + step, item, seen, depth + 1)
