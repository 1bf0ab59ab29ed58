"""The plain attributes of modules: numbers, texts and containers of them, which a trace takes as constants."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from streamsched.dsl.trace.tracing.arguments import literal

_OF_EVERY_MODULE = frozenset(vars(torch.nn.Module()))
_DEPTH = 8


@dataclass(frozen=True, slots=True)
class Change:
    """A plain attribute that holds something else now: `before` and `now` as Python expressions, `before` None where it
    was not there."""

    path: str
    name: str
    before: str | None
    now: str


@dataclass(frozen=True, slots=True)
class _Kept:
    """An attribute's object, and what was in it."""

    value: Any
    content: Any


class PlainAttributes:
    """What the plain attributes of a model's modules held when this was made."""

    def __init__(self, root: torch.nn.Module) -> None:
        self._modules = dict(root.named_modules())
        self._before = {
            path: {name: _Kept(value, copy.deepcopy(value)) for name, value in _plain(module)}
            for path, module in self._modules.items()
        }
        self._names = {path: frozenset(vars(module)) for path, module in self._modules.items()}

    def changed(self, but: Callable[[torch.nn.Module], bool]) -> tuple[Change, ...]:
        """The attributes that hold something else now; those of modules for which `but` holds left out."""
        watched = [path for path, module in self._modules.items() if not but(module)]
        return tuple(change for path in watched for change in self._changed_of(path))

    def _changed_of(self, path: str) -> Iterator[Change]:
        before = self._before[path]
        for name, value in _plain(self._modules[path]):
            known = name in before or name not in self._names[path]
            # The text tells 1 from True and from 1.0, and finds a NaN equal to itself.
            if known and (name not in before or repr(before[name].content) != repr(value)):
                kept = before.get(name)
                yield Change(path, name, None if kept is None else _text(kept.content), _text(value))

    def restore(self) -> None:
        """Put everything back: the same objects, with what was in them."""
        for path, module in self._modules.items():
            for name, _ in list(_plain(module)):
                if name not in self._names[path]:
                    del module.__dict__[name]
            for name, kept in self._before[path].items():
                _refill(kept.value, kept.content)
                module.__dict__[name] = kept.value


def is_of_every_module(name: str) -> bool:
    """Whether an attribute belongs to torch.nn.Module itself."""
    return name in _OF_EVERY_MODULE


@contextlib.contextmanager
def unchanged(model: torch.nn.Module) -> Iterator[None]:
    """Put the attributes and buffers of the model's modules back when the context ends."""
    plain = PlainAttributes(model)
    before = [(module, dict(vars(module)), dict(module._buffers)) for module in model.modules()]
    try:
        yield
    finally:
        for module, attributes, buffers in before:
            vars(module).clear()
            vars(module).update(attributes)
            module._buffers.clear()
            module._buffers.update(buffers)
        plain.restore()


def _plain(module: torch.nn.Module) -> Iterator[tuple[str, Any]]:
    for name, value in list(vars(module).items()):
        if name not in _OF_EVERY_MODULE and _is_plain(value, 0):
            yield name, value


def _text(value: object) -> str:
    return literal(value) or repr(value)


def _is_plain(value: object, depth: int) -> bool:
    if value is None or type(value) in (bool, int, float, str):
        return True
    if depth < _DEPTH and type(value) in (list, tuple):
        return all(_is_plain(item, depth + 1) for item in value)  # type: ignore[attr-defined]
    if depth < _DEPTH and type(value) is dict:
        return all(_is_plain(key, depth + 1) and _is_plain(item, depth + 1) for key, item in value.items())
    return False


def _refill(value: Any, content: Any) -> None:
    """Give a list or dict its former content back, where it has another now."""
    if repr(value) == repr(content):
        return
    if type(value) is list:
        value[:] = copy.deepcopy(content)
    elif type(value) is dict:
        value.clear()
        value.update(copy.deepcopy(content))
