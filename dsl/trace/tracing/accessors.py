"""The Python expressions that reach modules, parameters and nested inputs."""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Mapping
from types import FunctionType
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
    return ((expression, item) for expression, item in nested(name, value) if isinstance(item, torch.Tensor))


def nested(name: str, value: object) -> Iterator[tuple[str, Any]]:
    """An object and all that can be reached in it, outside in, each with the expression that reaches it."""
    return _nested(name, value, set(), 0)


def _nested(expression: str, value: Any, seen: set[int], depth: int) -> Iterator[tuple[str, Any]]:
    yield expression, value
    if depth < _DEPTH and id(value) not in seen:
        for step, item in children(value):
            seen.add(id(value))
            yield from _nested(expression + step, item, seen, depth + 1)


_CLOSED = (torch.Tensor, torch.nn.Module, torch.device, torch.dtype, str, bytes, int, float, type, FunctionType)
"""What nothing is looked for in."""


def children(value: Any) -> list[tuple[str, Any]]:
    """What an object holds: items and attributes, each with the step that leads there, `[0]` or `.keys`."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [(attribute(field) or "", getattr(value, field)) for field in value._fields]
    if isinstance(value, list | tuple):
        return [(f"[{index}]", item) for index, item in enumerate(value)]
    if is_dict(value):
        return [(subscript(key), item) for key, item in value.items()]
    if has_attributes(value):
        return [(step, item) for key, item in vars(value).items() if (step := attribute(key)) is not None]
    return []


def is_dict(value: object) -> bool:
    """Whether a value is a dict, of the builtins or of `collections`: it is looked into by its items."""
    return isinstance(value, Mapping) and type(value).__module__ in ("builtins", "collections")


def has_attributes(value: object) -> bool:
    """Whether a value is looked into by its attributes."""
    return hasattr(value, "__dict__") and not isinstance(value, (*_CLOSED, list, tuple)) and not is_dict(value)
