"""Whether two calls of modules must trace alike, so that tracing one of them is enough."""

from __future__ import annotations

import dataclasses
import functools
import types
from collections import OrderedDict
from typing import Any

import torch

from streamsched.dsl.trace.tracing.scope.capture import Call

_PLAIN = (
    type(None), bool, int, float, complex, str, bytes, type(Ellipsis), range,
    torch.dtype, torch.device, torch.Size, torch.layout, torch.memory_format,
)  # fmt: skip


def alike(a: Call, b: Call) -> bool:
    """Whether nothing that Python can see tells the modules, or what they are called with, apart: class, hooks,
    submodules, layout of parameters and buffers, all other attributes, and what is shared with what.

    Objects of classes that are not known count as different unless they are one object.
    """
    likeness = _Likeness()
    if not likeness.same(a.module, b.module):
        return False
    return likeness.same((a.inputs.args, a.inputs.kwargs), (b.inputs.args, b.inputs.kwargs))


class _Likeness:
    """Pairs of objects found alike so far: one object has one partner, wherever it is met again."""

    def __init__(self) -> None:
        self._partner: dict[int, object] = {}
        self._taken: dict[int, object] = {}
        self._memory: dict[int, int] = {}
        self._taken_memory: dict[int, int] = {}

    def same(self, a: Any, b: Any) -> bool:
        if isinstance(a, _PLAIN):
            return type(a) is type(b) and repr(a) == repr(b)  # the text finds a NaN equal to itself
        if id(a) in self._partner or id(b) in self._taken:
            return self._partner.get(id(a)) is b
        if type(a) is not type(b):
            return False
        self._partner[id(a)] = b
        self._taken[id(b)] = a
        return self._alike(a, b)

    def _alike(self, a: Any, b: Any) -> bool:
        if isinstance(a, torch.Tensor):
            return self._tensors(a, b)
        if a is b:
            return True
        if isinstance(a, torch.nn.Module):
            return self._modules(a, b)
        if type(a) in (list, tuple):
            return len(a) == len(b) and all(map(self.same, a, b))
        if type(a) in (dict, OrderedDict):
            return all(isinstance(key, _PLAIN) for key in a) and self._attributes(a, b)
        if type(a) in (set, frozenset):
            return all(isinstance(item, _PLAIN) for item in (*a, *b)) and sorted(map(repr, a)) == sorted(map(repr, b))
        if isinstance(a, types.MethodType):
            return a.__func__ is b.__func__ and self.same(a.__self__, b.__self__)
        if isinstance(a, functools.partial):
            return a.func is b.func and self.same(list(a.args), list(b.args)) and self.same(a.keywords, b.keywords)
        return _is_comparable(a) and _equal(a, b) and self._attributes(vars(a), vars(b))

    def _attributes(self, a: dict[Any, Any], b: dict[Any, Any]) -> bool:
        return list(a) == list(b) and all(self.same(value, b[key]) for key, value in a.items())

    def _modules(self, a: torch.nn.Module, b: torch.nn.Module) -> bool:
        mine, other = dict(vars(a)), dict(vars(b))
        if list(mine) != list(other):
            return False
        hooks = [name for name in mine if "_hooks" in name]
        for name in hooks:  # the keys number all hooks of a process
            if not self._hooks(mine.pop(name), other.pop(name)):
                return False
        inner = mine.pop("_modules"), other.pop("_modules")
        return self._attributes(mine, other) and self._attributes(*inner)

    def _hooks(self, a: Any, b: Any) -> bool:
        if not isinstance(a, dict) or not isinstance(b, dict):
            return a is b
        return len(a) == len(b) and all(map(self.same, a.values(), b.values()))

    def _tensors(self, a: torch.Tensor, b: torch.Tensor) -> bool:
        if a.device.type != "meta" and a is not b:  # there are values, which may differ
            return False
        if a.layout is not torch.strided or _layout(a) != _layout(b):
            return a is b
        mine, other = a.untyped_storage()._cdata, b.untyped_storage()._cdata
        if self._memory.setdefault(mine, other) != other or self._taken_memory.setdefault(other, mine) != mine:
            return False
        return self._attributes(vars(a), vars(b))


def _layout(tensor: torch.Tensor) -> tuple[Any, ...]:
    stored = (tensor.storage_offset(), tensor.untyped_storage().nbytes())
    return (tensor.layout, tensor.dtype, tensor.device, tensor.shape, tensor.stride(), tensor.requires_grad, *stored)


def _is_comparable(value: Any) -> bool:
    """Whether an object says itself what it is equal to, and holds no more than its attributes: a configuration."""
    if isinstance(value, type) or not hasattr(value, "__dict__"):
        return False
    return dataclasses.is_dataclass(value) or type(value).__eq__ is not _BY_IDENTITY


_BY_IDENTITY: Any = object.__eq__


def _equal(a: Any, b: Any) -> bool:
    if type(a).__eq__ is _BY_IDENTITY or dataclasses.is_dataclass(a):
        return True  # by its attributes
    try:
        return bool(a == b)
    except Exception:  # of the user's code
        return False
