"""An op's call made ready to print: arguments bound to the schema, what goes without saying left out.

A model is traced on the meta device, and where its code asks a tensor for its device, `meta` ends up in the trace.
It is printed as the device of the forward's first tensor. Ops that take the device from an operand keep to that.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterator
from dataclasses import dataclass

from streamsched.codegen.spell import table
from streamsched.codegen.spell.arguments import Name, device_name, equals, integer, spell_argument
from streamsched.codegen.spell.schemas import Parameter, Schema, bind, find
from streamsched.codegen.spell.table import Function
from streamsched.dsl.trace.model import Argument, Literal, Op, Ref, Sequence, StorageKind, Trace

_PLAIN = Function("")


@dataclass(frozen=True, slots=True)
class Call:
    """An ATen op with its schema and arguments. `bound` are the arguments given, in the schema's order."""

    op: Op
    trace: Trace
    name: Name
    schema: Schema
    bound: tuple[tuple[Parameter, Argument], ...]

    @property
    def keys(self) -> tuple[str, str]:
        """The keys that the tables may have the op under, the more particular first."""
        return f"{self.schema.name}.{self.schema.overload}", self.schema.name

    def given(self, parameter: str) -> Argument | None:
        """The argument for a parameter, None where it is left to its default."""
        return next((argument for each, argument in self.bound if each.name == parameter), None)

    def text(self, argument: Argument) -> str:
        """An argument as text."""
        return _spell(argument, self.trace, self.name)

    def arguments(self, function: Function = _PLAIN) -> list[Item]:
        """The arguments that must be printed, in the order that `function` takes them."""
        first = [parameter for name in function.order for parameter in self.schema.parameters if parameter.name == name]
        rest = [parameter for parameter in self.schema.parameters if parameter not in first]
        given = {parameter.name: argument for parameter, argument in self.bound}
        items = []
        gap = False
        for parameter in (*first, *rest):
            argument = given.get(parameter.name)
            if argument is None or parameter.is_out or self._is_implied(parameter, argument, function):
                gap = True
            else:
                by_name = gap or self._by_name(parameter, argument, function)
                label = function.rename.get(parameter.name, parameter.name)
                items.append(Item(parameter, argument, label if by_name else ""))
        return items

    def spelled(self, items: list[Item], function: Function = _PLAIN) -> Iterator[str]:
        """The items as text: `x`, `dim=-1`; lists that the op also takes as so many arguments are spread."""
        spread = any(key in table.VARIADIC_SIZES or key.startswith("new_") for key in self.keys)
        tensors = any(key in table.VARIADIC_TENSORS for key in self.keys)
        alone = sum(not item.label for item in items if item.parameter.name != "self") == 1
        for parameter, argument, label in ((each.parameter, each.argument, each.label) for each in items):
            listed = isinstance(argument, Sequence) and bool(argument.items)
            if (
                listed
                and not label
                and ((spread and alone and parameter.is_numbers) or (tensors and parameter.is_tensors))
            ):
                assert isinstance(argument, Sequence)
                yield from map(self.text, argument.items)
            else:
                text = self._item(parameter, argument, bool(function.path))
                yield f"{label}={text}" if label else text

    def out(self) -> str:
        """The `out=` argument, empty where there is none."""
        outs = [self.text(argument) for parameter, argument in self.bound if parameter.is_out]
        if not outs:
            return ""
        return f"out={outs[0]}" if len(outs) == 1 else f"out=({', '.join(outs)})"

    def _item(self, parameter: Parameter, argument: Argument, choose: bool) -> str:
        choices = table.CHOICES.get(parameter.name)
        number = integer(argument)
        if choose and choices and number is not None and 0 <= number < len(choices):
            return f'"{choices[number]}"'
        if isinstance(argument, Sequence) and parameter.is_numbers:
            if parameter.takes_one and len(argument.items) == 1:
                return self.text(argument.items[0])
            return self.text(Sequence("tuple", argument.items))
        return self.text(argument)

    def _is_implied(self, parameter: Parameter, argument: Argument, function: Function) -> bool:
        """Whether leaving the argument out means the same."""
        if parameter.name in function.drop:
            return True
        if isinstance(argument, Literal):
            if (parameter.name, argument.text) in (("pin_memory", "False"), ("layout", "torch.strided")):
                return True
            if parameter.name == "device" and is_traced_device(argument) and self._takes_device_of_operand():
                return True
        if keyword.iskeyword(parameter.name):
            return False  # what follows goes by position then, and `x.uniform_(0.0, 2.0)` reads better anyway
        default = function.defaults.get(parameter.name, parameter.default)
        return default is not None and equals(argument, default)

    def _takes_device_of_operand(self) -> bool:
        name = self.schema.name
        return name.startswith("new_") or name.endswith("_like") or _first_tensor(self.trace) is None

    def _by_name(self, parameter: Parameter, argument: Argument, function: Function) -> bool:
        if keyword.iskeyword(parameter.name) or parameter.name in table.POSITIONAL.get(self.schema.name, ()):
            return False
        named = function.named | table.NAMED.get(self.schema.name, frozenset())
        if parameter.keyword_only or parameter.name in named:
            return True
        has_default = parameter.default is not None or parameter.name in function.defaults
        return has_default and not isinstance(argument, Ref)


@dataclass(frozen=True, slots=True)
class Item:
    """An argument to print: by name where `label` is not empty."""

    parameter: Parameter
    argument: Argument
    label: str


def call_of(op: Op, trace: Trace, name: Name) -> Call | None:
    """The op's call; None where it has no listed schema or does not fit it."""
    schema = find(op.target)
    bound = None if schema is None else bind(schema, op)
    return None if schema is None or bound is None else Call(op, trace, name, schema, bound)


def raw_arguments(op: Op, trace: Trace, name: Name) -> str:
    """All arguments, as they were traced."""
    positional = [_spell(argument, trace, name) for argument in op.args]
    return ", ".join((*positional, *(f"{key}={_spell(argument, trace, name)}" for key, argument in op.kwargs)))


def is_traced_device(argument: Argument) -> bool:
    """Whether an argument is the device that models are traced on."""
    return isinstance(argument, Literal) and device_name(argument.text).partition(":")[0] == "meta"


def context_device(trace: Trace, name: Name) -> str:
    """The expression of the device that the forward runs on, empty where no tensor tells it."""
    value = _first_tensor(trace)
    return "" if value is None else f"{name(value)}.device"


def _first_parameter(trace: Trace) -> int | None:
    held = (StorageKind.PARAMETER, StorageKind.BUFFER)
    return next((i for i, value in enumerate(trace.values) if trace.storages[value.storages[0]].kind in held), None)


def _first_tensor(trace: Trace) -> int | None:
    """The first input, else the first parameter or buffer."""
    return trace.inputs[0] if trace.inputs else _first_parameter(trace)


def _spell(argument: Argument, trace: Trace, name: Name) -> str:
    if is_traced_device(argument):
        return context_device(trace, name) or spell_argument(argument, name)
    return spell_argument(argument, name)
