"""Python objects as argument trees."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from streamsched.dsl.trace import model
from streamsched.dsl.trace.model import Argument, Instance, Literal, Opaque, Ref, Sequence

_DEPTH = 12
_MAPPINGS = ("builtins", "collections", "torch.fx.immutable_collections")


def describe(value: object, tensor: Callable[[object], Argument | None], depth: int = 0) -> Argument:
    """An object as a tree; `tensor` answers for the leaves that it knows (tensors, graph nodes, traced numbers)."""
    known = tensor(value)
    if known is not None:
        return known
    text = literal(value)
    if text is not None:
        return Literal(text)
    if depth < _DEPTH:
        tree = _container(value, lambda item: describe(item, tensor, depth + 1))
        if tree is not None:
            return tree
    return Opaque(f"a {class_name(type(value))}")


def literal(value: object) -> str | None:
    """A constant as a Python expression; None for what is no constant.

    A device is its string: whoever prints code for another device replaces `'meta'`.
    """
    if value is None or value is Ellipsis or (isinstance(value, bool | int | str | bytes) and _is_plain(value)):
        return "..." if value is Ellipsis else repr(value)
    if isinstance(value, float) and type(value) is float:
        return repr(value) if math.isfinite(value) else f"float('{value}')"
    if isinstance(value, complex) and type(value) is complex:
        return repr(value)
    if isinstance(value, torch.dtype | torch.layout | torch.memory_format):
        return str(value)
    if isinstance(value, torch.device):
        return repr(str(value))
    return None


def _is_plain(value: object) -> bool:
    return type(value) in (bool, int, str, bytes)


def _container(value: object, item: Callable[[Any], Argument]) -> Argument | None:
    if isinstance(value, slice):
        return Sequence("slice", (item(value.start), item(value.stop), item(value.step)))
    if isinstance(value, tuple) and _is_tuple(type(value)):
        return Sequence("tuple", tuple(map(item, value)))
    if isinstance(value, list) and _is_list(value):
        return Sequence("list", tuple(map(item, value)))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return _instance(type(value), {name: item(part) for name, part in zip(value._fields, value, strict=True)})
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}
        return _instance(type(value), {name: item(part) for name, part in parts.items() if part is not None})
    if isinstance(value, Mapping) and type(value).__module__ in _MAPPINGS:
        keys = [literal(key) for key in value]
        if all(key is not None for key in keys):
            return model.Mapping(tuple(map(str, keys)), tuple(map(item, value.values())))
    return None


def _instance(cls: type, parts: dict[str, Argument]) -> Argument | None:
    """An object by its parts; None for one that holds no tensor, as a configuration does."""
    if not any(True for part in parts.values() for _ in model.refs(part)):
        return None
    return Instance(class_name(cls), tuple(parts), tuple(parts.values()))


def _is_tuple(cls: type) -> bool:
    """Whether a class of tuples is as good as `tuple`; the results of `x.max(0)` are."""
    return cls in (tuple, torch.Size) or hasattr(cls, "n_sequence_fields")


def _is_list(value: list[Any]) -> bool:
    return type(value) is list or type(value).__module__ == "torch.fx.immutable_collections"


def replaced(value: object, depth: int = 0) -> Iterator[tuple[str, str]]:
    """The classes in an object for which its tree has another, each with that other one."""
    items: list[Any] = []
    if isinstance(value, tuple):
        items = list(value)
        if type(value) is not tuple and _is_tuple(type(value)):
            yield _public_name(type(value)), "tuple"
    elif isinstance(value, list):
        items = list(value)
    elif isinstance(value, Mapping):
        items = list(value.values())
        if type(value).__module__ == "collections":
            yield _public_name(type(value)), "dict"
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        items = [getattr(value, field.name, None) for field in dataclasses.fields(value)]
    for item in items if depth < _DEPTH else ():
        yield from replaced(item, depth + 1)


def _public_name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def class_name(cls: type) -> str:
    """A class as "package.module:Class"."""
    return f"{cls.__module__}:{cls.__qualname__}"


def is_traced(value: object) -> bool:
    """Whether a value is one that a graph has a node for."""
    return isinstance(value, torch.Tensor | torch.SymInt | torch.SymFloat | torch.SymBool)


def result_tree(value: Any, made: Iterator[int]) -> Argument:
    """The result of a call as a tree, `made` giving the values in it left to right."""
    if is_traced(value):
        return Ref(next(made))
    if isinstance(value, list | tuple):
        kind = "list" if isinstance(value, list) else "tuple"
        return Sequence(kind, tuple(result_tree(item, made) for item in value))
    return Literal("None")


def map_refs(argument: Argument, change: Callable[[int], Argument]) -> Argument:
    """The tree with each `Ref` replaced by what `change` makes of its value."""
    if isinstance(argument, Ref):
        return change(argument.value)
    if isinstance(argument, Sequence):
        return Sequence(argument.kind, tuple(map_refs(item, change) for item in argument.items))
    if isinstance(argument, model.Mapping):
        return model.Mapping(argument.keys, tuple(map_refs(item, change) for item in argument.items))
    if isinstance(argument, Instance):
        return Instance(argument.type, argument.fields, tuple(map_refs(item, change) for item in argument.items))
    return argument


def instances(argument: Argument) -> Iterator[Instance]:
    """The objects in a tree that are known by their parts."""
    if isinstance(argument, Instance):
        yield argument
    elif isinstance(argument, Sequence | model.Mapping):
        for item in argument.items:
            yield from instances(item)


def opaque(argument: Argument) -> Iterator[str]:
    """What in a tree has no printed form."""
    if isinstance(argument, Opaque):
        yield argument.text
    elif isinstance(argument, Sequence | model.Mapping | Instance):
        for item in argument.items:
            yield from opaque(item)
