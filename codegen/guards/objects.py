"""The checks of objects that forward() is given, such as caches, by the classes and constants in them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from streamsched.codegen.guards.check import Check, is_constant, is_of_class
from streamsched.codegen.guards.places import is_chosen, is_inside, like, owners, through
from streamsched.codegen.spell.arguments import spell_literal
from streamsched.dsl.trace.model import ABSENT, OF_CLASS, Assignment, Trace, Value

_STEP = re.compile(r"(?P<owner>.+)(?:\.(?P<name>\w+)|\[(?P<key>[^\[]+)\])")


def classes(trace: Trace, expression: str, inputs: Iterable[Value]) -> Iterator[Check]:
    """An object's class, and the classes of what `inputs` are reached through, outermost first."""
    reached = (owner for path in _reached(trace, expression, inputs) for owner in owners(path))
    on_the_way = dict.fromkeys(owner for owner in reached if owner == expression or is_inside(owner, expression))
    for owner in on_the_way or (expression,):
        within, _, index = owner.removesuffix("]").rpartition("[")
        if owner.endswith("]") and index.startswith("self."):
            yield is_constant(f"{index} < len({within})", "True")
        if name := _class_of(trace, owner):
            yield is_of_class(owner, name)


def held_constants(trace: Trace, expression: str, inputs: Iterable[Value]) -> Iterator[Check]:
    """The constants that an object holds. Where an attribute of `self` chooses one of its items, those of that item
    which all have.
    """
    reached = _reached(trace, expression, inputs)
    chosen = {owner for path in reached for owner in owners(path) if is_chosen(owner)}
    texts: dict[str, set[str]] = {}
    for path, text in trace.constants:
        if is_inside(path, expression):
            texts.setdefault(through(path, chosen), set()).add(text)
    for path, found in texts.items():
        if len(found) == 1:
            yield is_constant(path, spell_literal(found.pop()))


def replaced(assignment: Assignment, checked: Collection[Check]) -> Iterator[Check]:
    """What is replaced by what forward() leaves in its place: a constant, an object by its class, or that there is
    nothing yet; unless `checked` tell."""
    target, before = assignment.target, assignment.before
    if before == ABSENT:
        match = _STEP.fullmatch(target)
        assert match is not None, target
        owner, name, key = match["owner"], match["name"], match["key"]
        found = f'hasattr({owner}, "{name}")' if name else f"{key} in {owner}"
        if not any(check.found == f"{{*{owner}}}" for check in checked):
            yield is_constant(found, "False")
    elif before.startswith(OF_CLASS):
        if not any(check.found == target or is_inside(check.found, target) for check in checked):
            yield _is_such(target, before.removeprefix(OF_CLASS))
    elif before:
        yield is_constant(target, spell_literal(before))


def _is_such(target: str, name: str) -> Check:
    """That there is an object of a class; of any class of tensors, for one of them."""
    if name != "Tensor":
        return is_of_class(target, name)
    return Check(f"whether {target} is a tensor", f"isinstance({target}, torch.Tensor)", "True", f"{target}: a tensor")


def _reached(trace: Trace, expression: str, inputs: Iterable[Value]) -> list[str]:
    """The expressions of `inputs`, and what forward() puts into an item of an object that an attribute of `self`
    chooses."""
    targets = (assignment.target for assignment in trace.assignments)
    chosen = (target for target in targets if is_chosen(target) and is_inside(target, expression))
    return [*(value.expression for value in inputs), *chosen]


def _class_of(trace: Trace, expression: str) -> str:
    """The class of an object that inputs are reached through; of an item that an attribute of `self` chooses, the
    class that all items have. Empty where it is not known.
    """
    pattern = like(expression)
    found = {name for path, name in trace.objects if pattern.fullmatch(path)}
    return found.pop() if len(found) == 1 else ""
