"""The checks of what forward() is called with."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from streamsched.codegen.guards.check import Check, is_constant, is_of_class, last_name
from streamsched.codegen.guards.objects import classes, held_constants, replaced
from streamsched.codegen.guards.places import is_inside
from streamsched.codegen.guards.tensors import Tensors, fixed_layout
from streamsched.codegen.spell.arguments import spell_literal
from streamsched.dsl.trace import model
from streamsched.dsl.trace.model import (
    Argument,
    Assignment,
    Instance,
    Literal,
    Mapping,
    Opaque,
    ParameterKind,
    Ref,
    Trace,
    Value,
)

_POSITIONAL = (ParameterKind.POSITIONAL_ONLY, ParameterKind.POSITIONAL_OR_KEYWORD)


def given(trace: Trace) -> Iterator[tuple[str, Argument]]:
    """What forward() was called with, by parameter; a default where it was given nothing."""
    call = trace.calls[0]
    names = [parameter.name for parameter in trace.parameters if parameter.kind in _POSITIONAL]
    by_name = {**dict(zip(names, call.args, strict=False)), **dict(call.kwargs)}
    for parameter in trace.parameters:
        if parameter.kind is ParameterKind.VAR_POSITIONAL:
            yield parameter.name, model.Sequence("tuple", call.args[len(names) :])
        elif parameter.kind is ParameterKind.VAR_KEYWORD:
            named = {other.name for other in trace.parameters}
            more = {repr(name): argument for name, argument in call.kwargs if name not in named}
            yield parameter.name, Mapping(tuple(more), tuple(more.values()))
        elif parameter.name in by_name:
            yield parameter.name, by_name[parameter.name]
        elif parameter.default:
            yield parameter.name, _default(parameter.default)


def _default(text: str) -> Argument:
    """A default as an argument: what is in a tuple is checked by its type, too."""
    node = ast.parse(text, mode="eval").body
    if not isinstance(node, ast.Tuple | ast.List):
        return Literal(text)
    items = (_default(ast.unparse(item)) for item in node.elts)
    return model.Sequence("tuple" if isinstance(node, ast.Tuple) else "list", tuple(items))


@dataclass
class Arguments:
    """The checks of the arguments, as far as they are added."""

    trace: Trace
    found: list[Check] = field(default_factory=list)
    tensors: Tensors = field(default_factory=Tensors)

    def add(self, expression: str, argument: Argument) -> None:
        """Check what `expression` holds; a constant that has no printed form is left out."""
        match argument:
            case Ref(value=index):
                self.found += self.tensors.checks(expression, self.trace.values[index])
            case Literal(text=text) if text == expression:  # an object of the caller's
                self._object(expression)
            case Literal(text=text) if text not in ("...", "'meta'"):
                self.found.append(is_constant(expression, spell_literal(text)))
            case model.Sequence(kind="list" | "tuple" as kind, items=items):
                self._sequence(expression, kind, items)
            case Mapping(keys=keys, items=items):
                self._mapping(expression, keys, items)
            case Instance(type=type_, fields=fields, items=items):
                self.found.append(is_of_class(expression, last_name(type_)))
                for name, item in zip(fields, items, strict=True):
                    self.add(f"{expression}.{name}", item)
            case Opaque():
                self._object(expression)

    def add_inputs(self) -> None:
        """Check the inputs that are not checked already."""
        for value in self._inputs():
            self.found += self.tensors.checks(value.expression, value)

    def add_replaced(self, assignment: Assignment) -> None:
        """Check what was there before forward() leaves something in its place."""
        self.found += replaced(assignment, self.found)

    def _inputs(self, root: str = "") -> list[Value]:
        """The inputs that are reached through `root`, all if it is empty, but those that are checked already."""
        values = (self.trace.values[index] for index in self.trace.inputs)
        open_ = (value for value in values if value.expression not in self.tensors.covered)
        return [value for value in open_ if not root or is_inside(value.expression, root)]

    def _object(self, expression: str) -> None:
        """Check an object by its class and the classes of what inputs are reached through, then those inputs and the
        constants that it holds.
        """
        inputs = self._inputs(expression)
        self.found += classes(self.trace, expression, inputs)
        for value in inputs:
            self.found += self.tensors.checks(value.expression, value)
        self.found += held_constants(self.trace, expression, inputs)

    def _sequence(self, expression: str, kind: str, items: tuple[Argument, ...]) -> None:
        if not self._is(expression, ParameterKind.VAR_POSITIONAL):
            self.found.append(is_of_class(expression, kind))
        leaves = [self._leaf(item) for item in items]
        if all(leaf is not None for leaf in leaves):
            text = f"[{', '.join(leaf for leaf in leaves if leaf is not None)}]"
            self.found.append(Check(expression, f"[*{expression}]", text, f"{expression} = {text}"))
            self.tensors.covered |= {f"{expression}[{place}]" for place in range(len(items))}
            return
        self.found.append(is_constant(f"len({expression})", str(len(items))))
        for place, item in enumerate(items):
            self.add(f"{expression}[{place}]", item)

    def _mapping(self, expression: str, keys: tuple[str, ...], items: tuple[Argument, ...]) -> None:
        if not self._is(expression, ParameterKind.VAR_KEYWORD):
            self.found.append(is_of_class(expression, dict(self.trace.objects).get(expression, "dict")))
        spelled = [spell_literal(key) for key in keys]
        start, end = ("{", "}") if keys else ("[", "]")
        text = f"{start}{', '.join(spelled)}{end}"
        said = f"{expression} has {', '.join(spelled) or 'nothing'}"
        self.found.append(Check(expression, f"{start}*{expression}{end}", text, said))
        for key, item in zip(spelled, items, strict=True):
            self.add(f"{expression}[{key}]", item)

    def _is(self, name: str, kind: ParameterKind) -> bool:
        """Whether a name is that of the parameter of a kind."""
        return any(parameter.name == name and parameter.kind is kind for parameter in self.trace.parameters)

    def _leaf(self, item: Argument) -> str | None:
        """The text of an item that is checked with its neighbours: a tensor of fixed sizes, a constant."""
        match item:
            case Ref(value=index):
                return fixed_layout(self.trace.values[index])
            case Literal(text=text) if text not in ("...", "'meta'"):
                return spell_literal(text)
        return None
