"""What a generated forward checks before it runs: that a call is like the one that was traced.

Each check compares one part of the call, or of the module, with what the trace fixed. Alike parts of a list (the keys
of every layer of a cache) are one check. What is reached through an object is checked after the object's class. Where a
check raises all the same, for want of a key, say, the call is another, too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from streamsched.codegen.forward.folding import Folding
from streamsched.codegen.forward.group_sizes import group_sizes
from streamsched.codegen.forward.state import unfolded
from streamsched.codegen.spell.arguments import spell_literal
from streamsched.dsl.trace import model
from streamsched.dsl.trace.model import (
    ABSENT,
    NONE,
    Argument,
    Assignment,
    Instance,
    Literal,
    Mapping,
    NamedDim,
    Opaque,
    ParameterKind,
    Ref,
    StorageKind,
    Trace,
    Value,
)

_ITEM = re.compile(r"([A-Za-z_][\w.]*)\[(\d+)\]")
_CHOSEN = re.compile(r"(?<=\[)self\.[^\]]*(?=\])")
_STEP = re.compile(r"(?P<owner>.+)(?:\.(?P<name>\w+)|\[(?P<key>[^\[]+)\])")
_WORD = re.compile(r"[A-Za-z_]\w*")
_CLASS = ".__class__.__name__"
_OWN = "self."
_POSITIONAL = (ParameterKind.POSITIONAL_ONLY, ParameterKind.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison: `found` and `traced` are Python expressions. `what` names the part for people, and `said` is the
    line about it in the head of the file.
    """

    what: str
    found: str
    traced: str
    said: str


def checks(trace: Trace, folding: Folding) -> tuple[Check, ...]:
    """What a call must have in common with the traced one: the module's modes, the arguments in their order, and the
    dtypes of the parameters.
    """
    arguments = _Arguments(trace)
    for name, argument in _given(trace):
        arguments.add(name, argument)
    arguments.add_inputs()
    for assignment in trace.assignments:
        if not assignment.target.startswith(_OWN):
            arguments.add_replaced(assignment)
    return (
        _constant("self.training", "False"),
        *dict.fromkeys((*_flags(trace, folding), *_changing(trace, folding))),
        *_grouped([*dict.fromkeys(arguments.found)], _lengths(trace, arguments.found)),
        *map(_bounds, trace.dims),
        *(_constant(expression, str(size)) for expression, size in group_sizes(trace, folding).items()),
        *_dtypes(trace),
    )


def _constant(expression: str, text: str) -> Check:
    return Check(expression, expression, text, f"{expression} = {text}")


def _class(expression: str, name: str) -> Check:
    return Check(f"the class of {expression}", f"{expression}{_CLASS}", f'"{name}"', f"{expression}: {name}")


def _bounds(dim: NamedDim) -> Check:
    """That a dynamic dim is within its bounds."""
    if dim.maximum is None:
        found, words = f"{dim.expression} >= {dim.minimum}", f"{dim.minimum} or more"
    else:
        found, words = f"{dim.expression} in range({dim.minimum}, {dim.maximum + 1})", f"{dim.minimum} to {dim.maximum}"
    return Check(f"whether {dim.name} is {words}", found, "True", f"{dim.name}: {words}")


def _given(trace: Trace) -> Iterator[tuple[str, Argument]]:
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
class _Arguments:
    """The checks of the arguments, as far as they are added."""

    trace: Trace
    found: list[Check] = field(default_factory=list)
    covered: set[str] = field(default_factory=set)  # the expressions of inputs that are checked
    sizes: dict[str, str] = field(default_factory=dict)  # by named dim, the expression of the first size of that name

    def add(self, expression: str, argument: Argument) -> None:
        """Check what `expression` holds; a constant that has no printed form is left out."""
        match argument:
            case Ref(value=index):
                self._tensor(expression, self.trace.values[index])
            case Literal(text=text) if text == expression:  # an object of the caller's
                self._object(expression)
            case Literal(text=text) if text not in ("...", "'meta'"):
                self.found.append(_constant(expression, spell_literal(text)))
            case model.Sequence(kind="list" | "tuple" as kind, items=items):
                self._sequence(expression, kind, items)
            case Mapping(keys=keys, items=items):
                self._mapping(expression, keys, items)
            case Instance(type=type_, fields=fields, items=items):
                self.found.append(_class(expression, last_name(type_)))
                for name, item in zip(fields, items, strict=True):
                    self.add(f"{expression}.{name}", item)
            case Opaque():
                self._object(expression)

    def add_inputs(self) -> None:
        """Check the inputs that are not checked already."""
        for value in self._inputs():
            self._tensor(value.expression, value)

    def _inputs(self, root: str = "") -> list[Value]:
        """The inputs that are reached through `root`, all if it is empty, but those that are checked already."""
        values = (self.trace.values[index] for index in self.trace.inputs)
        open_ = (value for value in values if value.expression not in self.covered)
        return [value for value in open_ if not root or value.expression.startswith((f"{root}.", f"{root}["))]

    def _object(self, expression: str) -> None:
        """Check an object by its class and the classes of what inputs are reached through, then those inputs and the
        constants that it holds.
        """
        inputs = self._inputs(expression)
        reached = [*(value.expression for value in inputs), *self._chosen_targets(expression)]
        owners = dict.fromkeys(owner for path in reached for owner in _owners(path))
        for owner in owners or (expression,):
            within, _, index = owner.removesuffix("]").rpartition("[")
            if owner.endswith("]") and index.startswith("self."):
                self.found.append(_constant(f"{index} < len({within})", "True"))
            if name := self._class_of(owner):
                self.found.append(_class(owner, name))
        for value in inputs:
            self._tensor(value.expression, value)
        self.found += self._held(expression, reached)

    def _chosen_targets(self, expression: str) -> Iterator[str]:
        """What forward() puts into an item of an object that an attribute of `self` chooses."""
        for target in (assignment.target for assignment in self.trace.assignments):
            if _CHOSEN.search(target) and target.startswith((f"{expression}.", f"{expression}[")):
                yield target

    def _held(self, expression: str, reached: Iterable[str]) -> Iterator[Check]:
        """The constants that an object holds. Where an attribute of `self` chooses one of its items, those of that item
        which all have.
        """
        chosen = {owner for path in reached for owner in _owners(path) if _CHOSEN.search(owner)}
        texts: dict[str, set[str]] = {}
        for path, text in self.trace.constants:
            if path.startswith((f"{expression}.", f"{expression}[")):
                texts.setdefault(_through(path, chosen), set()).add(text)
        for path, found in texts.items():
            if len(found) == 1:
                yield _constant(path, spell_literal(found.pop()))

    def add_replaced(self, assignment: Assignment) -> None:
        """Check the constant that is replaced by what forward() leaves in its place, or that there is nothing yet."""
        target = assignment.target
        if assignment.before == ABSENT:
            match = _STEP.fullmatch(target)
            assert match is not None, target
            owner, name, key = match["owner"], match["name"], match["key"]
            found = f'hasattr({owner}, "{name}")' if name else f"{key} in {owner}"
            if not any(check.found == f"{{*{owner}}}" for check in self.found):
                self.found.append(_constant(found, "False"))
        elif assignment.before:
            self.found.append(_constant(target, spell_literal(assignment.before)))

    def _class_of(self, expression: str) -> str:
        """The class of an object that inputs are reached through; of an item that an attribute of `self` chooses, the
        class that all items have. Empty where it is not known.
        """
        like = _like(expression)
        classes = {name for path, name in self.trace.objects if like.fullmatch(path)}
        return classes.pop() if len(classes) == 1 else ""

    def _sequence(self, expression: str, kind: str, items: tuple[Argument, ...]) -> None:
        starred = any(p.name == expression for p in self.trace.parameters if p.kind is ParameterKind.VAR_POSITIONAL)
        if not starred:
            self.found.append(_class(expression, kind))
        leaves = [self._leaf(item) for item in items]
        if all(leaf is not None for leaf in leaves):
            text = f"[{', '.join(leaf for leaf in leaves if leaf is not None)}]"
            self.found.append(Check(expression, f"[*{expression}]", text, f"{expression} = {text}"))
            self.covered |= {f"{expression}[{place}]" for place in range(len(items))}
            return
        self.found.append(_constant(f"len({expression})", str(len(items))))
        for place, item in enumerate(items):
            self.add(f"{expression}[{place}]", item)

    def _mapping(self, expression: str, keys: tuple[str, ...], items: tuple[Argument, ...]) -> None:
        starred = any(p.name == expression for p in self.trace.parameters if p.kind is ParameterKind.VAR_KEYWORD)
        if not starred:
            classes = dict(self.trace.objects)
            self.found.append(_class(expression, classes.get(expression, "dict")))
        spelled = [spell_literal(key) for key in keys]
        start, end = ("{", "}") if keys else ("[", "]")
        text = f"{start}{', '.join(spelled)}{end}"
        said = f"{expression} has {', '.join(spelled) or 'nothing'}"
        self.found.append(Check(expression, f"{start}*{expression}{end}", text, said))
        for key, item in zip(spelled, items, strict=True):
            self.add(f"{expression}[{key}]", item)

    def _leaf(self, item: Argument) -> str | None:
        """The text of an item that is checked with its neighbours: a tensor of fixed sizes, a constant."""
        match item:
            case Ref(value=index) if all(map(_is_fixed, self.trace.values[index].shape)):
                return _layout(self.trace.values[index].dtype, map(str, self.trace.values[index].shape))
            case Literal(text=text) if text not in ("...", "'meta'"):
                return spell_literal(text)
        return None

    def _tensor(self, expression: str, value: Value) -> None:
        self.covered.add(expression)
        sizes = [self._size(expression, place, size) for place, size in enumerate(value.shape)]
        if any(expression in size for size in sizes):
            checked = f"isinstance({expression}, torch.Tensor)"
            self.found.append(Check(f"whether {expression} is a tensor", checked, "True", ""))
        said = f"{expression}: {value.dtype}[{', '.join(map(str, value.shape))}]"
        self.found.append(Check(expression, expression, _layout(value.dtype, sizes), said))

    def _size(self, expression: str, place: int, size: int | str) -> str:
        """What a size is compared with: itself where the trace leaves it open, else a number or other sizes."""
        if _is_fixed(size):
            return str(size)
        if isinstance(size, str):
            if all(word in self.sizes for word in _WORD.findall(size)):
                return _WORD.sub(lambda word: self.sizes[word[0]], size)
            if size.isidentifier() and not _ITEM.search(expression):  # the items of a list stay alike
                self.sizes[size] = f"{expression}.shape[{place}]"
        return f"*{expression}.shape[{place}:{place + 1}]"


def _like(expression: str) -> re.Pattern[str]:
    """What matches an expression in which an attribute of `self` chooses an item, with any number in its place."""
    return re.compile(r"\d+".join(map(re.escape, _CHOSEN.split(expression))))


def _through(path: str, chosen: Iterable[str]) -> str:
    """The expression of a place, by way of the one of `chosen` that it can be reached through, if there is one."""
    for owner in chosen:
        match = _like(owner).match(path)
        if match is not None and path[match.end() :].startswith((".", "[")):
            return owner + path[match.end() :]
    return path


def _is_fixed(size: object) -> bool:
    """Whether a size is a number that every call has; a name or an expression is not, nor -1."""
    return isinstance(size, int) and size >= 0


def _layout(dtype: str, sizes: Iterable[str]) -> str:
    inside = ", ".join((f"torch.{dtype}", *sizes))
    return f"({inside})" if ", " in inside else f"({inside},)"


def _owners(expression: str) -> Iterator[str]:
    """What an expression goes through, outermost first: `cache`, `cache.layers`, `cache.layers[0]`."""
    node = ast.parse(expression, mode="eval").body
    chain: list[str] = []
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
        chain.insert(0, ast.get_source_segment(expression, node) or "")
    yield from chain


def last_name(type_: str) -> str:
    """The bare name of a class given as "package.module:Class"."""
    return re.split(r"[.:]", type_)[-1]


def _lengths(trace: Trace, found: Iterable[Check]) -> dict[str, int]:
    """How many items each list has, as far as the trace and the checks tell."""
    inputs = (trace.values[index].expression for index in trace.inputs)
    known = (*inputs, *(path for path, _ in (*trace.constants, *trace.objects)), *(check.found for check in found))
    lengths: dict[str, int] = {}
    for owner, place in (item for text in known for item in _ITEM.findall(text)):
        lengths[owner] = max(lengths.get(owner, 0), int(place) + 1)
    return lengths


def _grouped(found: list[Check], lengths: dict[str, int]) -> Iterator[Check]:
    """The checks with those of all items of a list as one, in place of the first of them."""
    members: dict[tuple[str, str], list[Check]] = {}
    for check in found:
        members.setdefault(_key(check), []).append(check)
    for (owner, _), alike in members.items():
        together = _together(owner, alike) if owner and len(alike) == lengths[owner] else None
        yield from alike if together is None else [together]


def _key(check: Check) -> tuple[str, str]:
    """The list whose item a check is about, and the check with `item` in place of that item."""
    match = _ITEM.search(check.found)
    if match is None:
        return "", check.what
    return match[1], check.found.replace(match[0], "item")


def _together(owner: str, alike: list[Check]) -> Check | None:
    """One check of all items of the list `owner`; None where `alike` are not about all of them."""
    if [f"{owner}[{place}]" for place in range(len(alike))] != [_item(check) for check in alike]:
        return None
    first = alike[0]
    traced = [check.traced.replace(_item(check), "item") for check in alike]
    runs = [(text, len([*same])) for text, same in groupby(traced)]
    if any("item" in _WORD.findall(text) for text in traced):
        if len(runs) > 1:
            return None
        expected = f"[{traced[0]} for item in {owner}]"
    else:
        expected = " + ".join(f"[{text}]{f' * {count}' if count > 1 else ''}" for text, count in runs)
    found = f"[{first.found.replace(_item(first), 'item')} for item in {owner}]"
    what, said = (text.replace(_item(first), f"{owner}[:]") for text in (first.what, first.said))
    return Check(what, found, expected, said if len(runs) == 1 else f"{what} = {expected}")


def _item(check: Check) -> str:
    match = _ITEM.search(check.found)
    assert match is not None, check
    return match[0]


def _flags(trace: Trace, folding: Folding) -> Iterator[Check]:
    """What steered the forward() of each module whose ops are printed one by one."""
    unfolded = (call for index, call in enumerate(trace.calls) if call.flags and _is_unfolded(trace, folding, index))
    for expression, text in dict(flag for call in unfolded for flag in call.flags).items():
        yield _constant(expression, spell_literal(text))


def _changing(trace: Trace, folding: Folding) -> list[Check]:
    """What attributes held that the code changes itself; a module that is called checks nothing and runs again."""
    arguments = _Arguments(trace)
    for assignment in unfolded(trace, frozenset(folding.call_of) - {NONE}):
        if assignment.target.startswith(_OWN):
            arguments.add_replaced(assignment)
    return arguments.found


def _is_unfolded(trace: Trace, folding: Folding, index: int) -> bool:
    """Whether the ops of a call, or calls inside it, are printed in its place."""
    call = trace.calls[index]
    if call.begin == call.end:
        return call.parent == NONE
    folded = folding.call_of[call.begin]
    if folded == NONE:
        return True
    outer = trace.calls[folded].parent
    while outer not in (NONE, index):
        outer = trace.calls[outer].parent
    return outer == index


def _dtypes(trace: Trace) -> Iterator[Check]:
    """The dtype of one parameter, or else buffer, of each floating dtype: a model that was cast is another."""
    nearest: dict[str, tuple[tuple[bool, int], str]] = {}
    for value in trace.values:
        kind = trace.storages[value.storages[0]].kind
        if kind not in (StorageKind.PARAMETER, StorageKind.BUFFER) or "float" not in value.dtype:
            continue
        if value.expression:
            rank = (kind is StorageKind.BUFFER, len(re.findall(r"[.\[]", value.expression)))
            nearest[value.dtype] = min(nearest.get(value.dtype, (rank, value.expression)), (rank, value.expression))
    for dtype, (_, expression) in nearest.items():
        yield Check(expression, f"{expression}.dtype", f"torch.{dtype}", f"{expression}: {dtype}")
