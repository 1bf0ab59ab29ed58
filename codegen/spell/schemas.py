"""The signatures of ATen ops and where torch publishes them, from `schemas.txt`, without torch.

A line of the file is `PLACES SCHEMA`: where the op can be called from (`torch`, `Tensor`, `torch.linalg`, ..., or `-`
for an op that only `table.py` knows how to spell), and its schema as torch writes it. `python
tests/codegen/test_spelling_schemas.py` writes the file anew from the torch that is installed; a test holds it fresh.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

from streamsched.dsl.trace.model import Argument, Op

_FILE = Path(__file__).with_name("schemas.txt")
_COMMA = re.compile(r", *(?![^\[(]*[\])])")  # one that is not inside brackets


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an ATen op. `default` is as the schema writes it, None for a parameter that must be given."""

    name: str
    type: str
    default: str | None
    keyword_only: bool

    @property
    def is_out(self) -> bool:
        """Whether the op writes its result there: `out=` in Python."""
        return self.keyword_only and "!" in self.type

    @property
    def is_numbers(self) -> bool:
        """Whether it is a list of numbers."""
        return self.type.startswith(("int[", "SymInt[", "float[", "Scalar["))

    @property
    def is_tensors(self) -> bool:
        """Whether it is a list of tensors."""
        return self.type.startswith("Tensor[]")

    @property
    def takes_one(self) -> bool:
        """Whether it is a list for which Python also takes its only item: `dim=-1` for `dim=[-1]`."""
        return self.is_numbers and "[1]" in self.type


@dataclass(frozen=True, slots=True)
class Schema:
    """The signature of one overload. `places` are the namespaces that have a function or method of its name."""

    name: str
    overload: str
    places: frozenset[str]
    parameters: tuple[Parameter, ...]


def find(target: str) -> Schema | None:
    """The schema of an op such as `aten.add.Tensor`, or None for one that is not listed."""
    line = _lines().get(target)
    return None if line is None else _parse(line)


def bind(schema: Schema, op: Op) -> tuple[tuple[Parameter, Argument], ...] | None:
    """The op's arguments with their parameters, in the schema's order. None where they do not fit the schema."""
    positional = [parameter for parameter in schema.parameters if not parameter.keyword_only]
    if len(op.args) > len(positional):
        return None
    given = {parameter.name: argument for parameter, argument in zip(positional, op.args, strict=False)} | dict(
        op.kwargs
    )
    if len(given) != len(op.args) + len(op.kwargs) or not given.keys() <= {each.name for each in schema.parameters}:
        return None
    return tuple((each, given[each.name]) for each in schema.parameters if each.name in given)


@functools.cache
def _lines() -> dict[str, str]:
    """The file's lines by target. Parsing waits until a target is asked for: a model uses some fifty of them."""
    lines = {}
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        name = line[line.index(" ") + 1 : line.index("(")]
        lines[f"aten.{name}" if "." in name else f"aten.{name}.default"] = line
    return lines


@functools.cache
def _parse(line: str) -> Schema:
    places, _, schema = line.partition(" ")
    full_name, _, rest = schema.partition("(")
    name, _, overload = full_name.partition(".")
    parameters = []
    keyword_only = False
    for item in _COMMA.split(rest[: rest.rindex(") ->")]):
        if item == "*":
            keyword_only = True
        elif item:
            declaration, has_default, default = item.partition("=")
            type_, _, parameter = declaration.rpartition(" ")
            if type_.startswith("float") and default.isdigit():
                default += ".0"
            parameters.append(Parameter(parameter, type_, default if has_default else None, keyword_only))
    return Schema(name, overload or "default", frozenset(places.split(",")) - {"-"}, tuple(parameters))
