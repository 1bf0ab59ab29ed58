"""Constants that differ from module to module, spelled as the attribute of `self` that holds them in each."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from streamsched.dsl.trace.model import Trace, refs
from streamsched.dsl.trace.tracing.accessors import attribute, module_accessor, subscript
from streamsched.dsl.trace.tracing.arguments import literal
from streamsched.dsl.trace.tracing.scope.match import INDEX, Match, Place
from streamsched.dsl.trace.tracing.scope.names_read import names_read
from streamsched.dsl.trace.tracing.state.attributes import is_of_every_module

_DEPTH = 3


@dataclass(frozen=True, slots=True)
class Unheld:
    """A constant that no attribute holds: where it is in the base, and its text in each module."""

    place: Place
    texts: tuple[str, ...]


def unified(base: Trace, modules: list[torch.nn.Module], matches: list[Match]) -> Trace | Unheld:
    """`base`, the trace of the first of `modules`, such that it is that of every module. `matches` are those of the
    others, in their order."""
    texts: dict[Place, list[str]] = {}
    for number, found in enumerate(matches):
        for place, (mine, its) in found.constants.items():
            texts.setdefault(place, [mine] * len(modules))[number + 1] = its
    read = names_read(list(modules[0].modules())) if texts else frozenset[str]()
    held = [dict(_constants(module, read)) for module in modules]
    spelled: dict[Place, str] = {}
    for place, column in texts.items():
        name = next((name for name in held[0] if [own.get(name) for own in held] == column), None)
        if name is None:
            return Unheld(place, tuple(column))
        spelled[place] = f"self{name}"
    made: Trace = _spell(base, spelled)
    return dataclasses.replace(made, inputs=tuple(_own_inputs(base, spelled)))


def _own_inputs(base: Trace, spelled: Mapping[Place, str]) -> Iterator[int]:
    """The inputs without the layers of a cache that belong to other modules: nothing here uses them."""
    layers = {_skeleton(base.values[int(place[1])].expression) for place in spelled if place[0] == "values"}
    targets = (int(place[1]) for place in spelled if place[0] == "assignments" and place[2] == "target")
    layers |= {_skeleton(base.assignments[index].target) for index in targets}
    used = {value for op in base.ops for tree in (*op.args, *(tree for _, tree in op.kwargs)) for value in refs(tree)}
    for value in base.inputs:
        if value in used or _skeleton(base.values[value].expression) not in layers:
            yield value


def _constants(module: torch.nn.Module, read: frozenset[str]) -> Iterator[tuple[str, str]]:
    """The plain attributes of a module and its submodules whose names are in `read`: the expression behind `self`, and
    the constant's text."""
    for path, part in module.named_modules():
        accessor = module_accessor(module, path)
        for name, value in vars(part).items():
            step = attribute(name)
            if step is not None and name in read and not is_of_every_module(name):
                yield from _items(accessor + step, value, 0)


def _items(expression: str, value: Any, depth: int) -> Iterator[tuple[str, str]]:
    text = literal(value)
    if text is not None:
        yield expression, text
    elif depth < _DEPTH and type(value) in (list, tuple):
        for index, item in enumerate(value):
            yield from _items(f"{expression}[{index}]", item, depth + 1)
    elif depth < _DEPTH and type(value) is dict:
        for key, item in value.items():
            if literal(key) is not None:
                yield from _items(expression + subscript(key), item, depth + 1)


def _spell(node: Any, texts: Mapping[Place, str]) -> Any:
    """The tree with the constant at each place replaced."""
    inner: dict[str | int, dict[Place, str]] = {}
    for place, text in texts.items():
        if not place:
            return dataclasses.replace(node, text=text)
        inner.setdefault(place[0], {})[place[1:]] = text
    if isinstance(node, str):
        return _with_indices(node, {int(number): text for number, rest in inner.items() for text in rest.values()})
    if isinstance(node, tuple):
        return tuple(_spell(item, inner[i]) if i in inner else item for i, item in enumerate(node))
    fields = {str(name): _spell(getattr(node, str(name)), rest) for name, rest in inner.items()}
    return dataclasses.replace(node, **fields)


def _with_indices(expression: str, texts: Mapping[int, str]) -> str:
    parts = INDEX.split(expression)
    for number, index in enumerate(parts[1::2]):
        parts[2 * number + 1] = f"[{texts.get(number, index)}]"
    return "".join(parts)


def _skeleton(expression: str) -> tuple[str, ...]:
    """An expression without its indices: what the layers of one cache have in common."""
    return tuple(INDEX.split(expression)[::2])
