"""What forward() reads of the objects that modules hold: configurations, mostly.

Any function may be given such an object, a decorator around forward() too, so that what is read of it is noted while
it happens.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable, Iterator
from typing import Any

import torch

from streamsched.dsl.trace.tracing.accessors import attribute, module_accessor
from streamsched.dsl.trace.tracing.arguments import literal

_DEPTH = 2
"""How deep objects are looked for in objects."""

_HEAP_TYPE = 1 << 9
"""The flag of classes that Python code defined: others take no attributes."""

Note = Callable[[str, str], None]
"""Told of each read: the expression over the root's `self`, and the constant that was there."""


class ObjectReads:
    """The objects in the plain attributes of a model's modules, by the shortest expression that reaches each."""

    def __init__(self, root: torch.nn.Module) -> None:
        self._objects: dict[int, tuple[Any, str]] = {}
        self._classes: dict[type, tuple[bool, Any]] = {}  # whether the class itself says how it is read, and how
        for path, module in root.named_modules():
            self._add(vars(module), f"self{module_accessor(root, path)}", 0)

    def _add(self, held: dict[str, Any], owner: str, depth: int) -> None:
        for name, value in list(held.items()):
            step = attribute(name)
            if step is None or id(value) in self._objects or not _is_watched(value):
                continue
            self._objects[id(value)] = (value, owner + step)
            if depth < _DEPTH:
                self._add(getattr(value, "__dict__", {}), owner + step, depth + 1)

    @contextlib.contextmanager
    def noted(self, note: Note) -> Iterator[None]:
        """Tell `note` of what is read while the context lasts."""
        for cls in {type(value): None for value, _ in self._objects.values()}:
            self._watch(cls, note)
        try:
            yield
        finally:
            self.stop()

    def stop(self) -> None:
        """Watch nothing any more."""
        while self._classes:
            cls, (own, before) = self._classes.popitem()
            if own:
                cls.__getattribute__ = before  # type: ignore[method-assign]
            else:
                del cls.__getattribute__

    def _watch(self, cls: type, note: Note) -> None:
        before: Callable[[Any, str], Any] = cls.__getattribute__  # type: ignore[assignment]
        objects = self._objects
        reading = False  # a property, whose own reads tell nothing more

        def read(thing: Any, name: str) -> Any:
            nonlocal reading
            known = None if reading or name[:2] == "__" else objects.get(id(thing))
            if known is None:
                return before(thing, name)
            reading = True
            try:
                value = before(thing, name)
            finally:
                reading = False
            text = literal(value)
            if text is not None:
                note(f"{known[1]}.{name}", text)
            return value

        self._classes[cls] = "__getattribute__" in vars(cls), before
        cls.__getattribute__ = read  # type: ignore[assignment]


def _is_watched(value: object) -> bool:
    """Whether a value is an object of somebody's own class, with attributes."""
    cls = type(value)
    if isinstance(value, torch.nn.Module | torch.Tensor | type | enum.Enum) or not cls.__flags__ & _HEAP_TYPE:
        return False
    return cls.__module__.partition(".")[0] not in ("torch", "torch_npu", "streamsched", "builtins", "functools")
