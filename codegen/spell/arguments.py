"""Arguments as Python text."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from streamsched.dsl.trace.model import Argument, Branch, Instance, Literal, Mapping, Opaque, Ref, Sequence

Name = Callable[[int], str]
"""The text of a value, by its id."""

_SINGLE_QUOTED = re.compile(r"'([^'\"\\]*)'")
_DEVICE = re.compile(r"(?:torch\.)?device\((?:type=)?'(\w+)(?::(\d+))?'(?:, (?:index=)?(\d+))?\)|'(meta)'")


def spell_argument(argument: Argument, name: Name) -> str:
    """The Python expression of an argument, with `name` giving the text of values. ValueError for an opaque one."""
    match argument:
        case Ref(value):
            return name(value)
        case Literal(text):
            return spell_literal(text)
        case Sequence(kind, items):
            return _spell_sequence(kind, [spell_argument(item, name) for item in items])
        case Mapping(keys, items):
            pairs = zip(keys, items, strict=True)
            return "{" + ", ".join(f"{spell_literal(key)}: {spell_argument(item, name)}" for key, item in pairs) + "}"
        case Instance(type_, fields, items):
            pairs = zip(fields, items, strict=True)
            arguments = ", ".join(f"{key}={spell_argument(item, name)}" for key, item in pairs)
            return f"{type_.partition(':')[2]}({arguments})"
        case Opaque(text):
            raise ValueError(f"{text} has no printed form")
        case Branch(name=function):
            return function


def spell_literal(text: str) -> str:
    """A literal as the formatter leaves it: strings in double quotes, a device by its name."""
    device = device_name(text)
    if device:
        return f'"{device}"'
    return text if '"' in text else _SINGLE_QUOTED.sub(r'"\1"', text)


def device_name(text: str) -> str:
    """The name of the device that a literal is, `cuda:0` for `torch.device('cuda', 0)`; empty for other literals."""
    match = _DEVICE.fullmatch(text.replace('"', "'"))
    return "" if match is None else ":".join(filter(None, match.groups()))


def class_imports(argument: Argument) -> frozenset[str]:
    """The import lines for the classes in an argument's tree."""
    if not isinstance(argument, Sequence | Mapping | Instance):
        return frozenset()
    inner = frozenset[str]().union(*map(class_imports, argument.items))
    if isinstance(argument, Instance):
        module, _, path = argument.type.partition(":")
        return inner | {f"from {module} import {path.partition('.')[0]}"}
    return inner


def equals(argument: Argument, default: str) -> bool:
    """Whether an argument is what a schema's default says; `1` stands for any number of ones in a list."""
    if isinstance(argument, Literal) and argument.text in (default, f"torch.{default}"):
        return True
    found, wanted = _constant(argument), _constant(Literal("1" if default == "Mean" else default))
    if found is None or wanted is None:
        return False
    if isinstance(found, list) and not isinstance(wanted, list):
        return bool(found) and all(_same(item, wanted) for item in found)
    return _same(found, wanted)


def integer(argument: Argument) -> int | None:
    """The integer that a literal is, None for any other argument."""
    value = _constant(argument)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _same(left: object, right: object) -> bool:
    return type(left) is type(right) and left == right


def _constant(argument: Argument) -> object:
    """The value of a literal or of a list of literals, None where it is not a plain one."""
    if isinstance(argument, Sequence) and argument.kind != "slice":
        return [_constant(item) for item in argument.items]
    if not isinstance(argument, Literal):
        return None
    try:
        return ast.literal_eval(argument.text)
    except (ValueError, SyntaxError):
        return None


def _spell_sequence(kind: str, items: list[str]) -> str:
    if kind == "list":
        return f"[{', '.join(items)}]"
    if kind == "tuple":
        return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
    return f"slice({', '.join(items)})"
