"""Trees of arguments as Python: what a call is given, what forward() returns, what a result is bound to."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from streamsched.dsl.trace.model import Argument, Branch, Instance, Literal, Mapping, Opaque, Ref, Sequence

Name = Callable[[int], str]


def printable(argument: Argument, opaque: frozenset[str] = frozenset()) -> bool:
    """Whether `spell_tree` can print `argument`; `opaque` are the texts that name an object of the caller's."""
    match argument:
        case Opaque(text=text):
            return text in opaque
        case Sequence(items=items) | Mapping(items=items):
            return all(printable(item, opaque) for item in items)
        case Instance():
            return False
    return True


def spell_tree(argument: Argument, name: Name) -> str:
    """`argument` as a Python expression; an `Instance` needs the imports of `tree_imports`."""
    match argument:
        case Ref(value=value):
            return name(value)
        case Literal(text=text) | Opaque(text=text):
            return text
        case Sequence(kind="slice", items=items):
            return f"slice({', '.join(spell_tree(item, name) for item in items)})"
        case Sequence(kind=kind, items=items):
            inside = ", ".join(spell_tree(item, name) for item in items)
            if kind == "list":
                return f"[{inside}]"
            return f"({inside},)" if len(items) == 1 else f"({inside})"
        case Mapping(keys=keys, items=items):
            pairs = (f"{key}: {spell_tree(item, name)}" for key, item in zip(keys, items, strict=True))
            return f"{{{', '.join(pairs)}}}"
        case Instance(type=type_, fields=fields, items=items):
            given = (f"{field}={spell_tree(item, name)}" for field, item in zip(fields, items, strict=True))
            return f"{type_.rpartition(':')[2]}({', '.join(given)})"
        case Branch(name=function):
            return function


def tree_imports(argument: Argument) -> frozenset[str]:
    """The import lines of the classes that `spell_tree` names."""
    match argument:
        case Instance(type=type_, items=items):
            module, _, name = type_.partition(":")
            return frozenset({f"from {module} import {name.partition('.')[0]}"}).union(*map(tree_imports, items))
        case Sequence(items=items) | Mapping(items=items):
            return frozenset[str]().union(*map(tree_imports, items))
    return frozenset()


def texts(argument: Argument) -> Iterator[str]:
    """The constants in a tree: literals, and the expressions of objects that are passed on by name."""
    match argument:
        case Literal(text=text) | Opaque(text=text):
            yield text
        case Sequence(items=items) | Mapping(items=items) | Instance(items=items):
            for item in items:
                yield from texts(item)


def target(result: Argument, wanted: Callable[[int], str | None]) -> tuple[str, str] | None:
    """How to bind the wanted values of a call's result: the text before ` = ` and what follows the call.

    `wanted` names a value that must be bound, and gives None for the rest. The first text is empty where nothing is
    bound. None where no single statement can do it.
    """
    if not _wanted(result, wanted):
        return "", ""
    if (pattern := _pattern(result, wanted)) is not None:
        return pattern, ""
    paths = _paths(result, wanted, "")
    return paths[0] if len(paths) == 1 else None


def unpacking(result: Argument, wanted: Callable[[int], str | None]) -> tuple[str, str]:
    """How to bind several wanted values of a call's result where `target` cannot: the name to bind the result to, and
    the statement that follows, in which the name gets its own value."""
    paths = _paths(result, wanted, "")
    holder = paths[0][0]
    return holder, f"{', '.join(name for name, _ in paths)} = {', '.join(f'{holder}{path}' for _, path in paths)}"


def _wanted(result: Argument, wanted: Callable[[int], str | None]) -> bool:
    match result:
        case Ref(value=value):
            return wanted(value) is not None
        case Sequence(items=items) | Mapping(items=items) | Instance(items=items):
            return any(_wanted(item, wanted) for item in items)
    return False


def _pattern(result: Argument, wanted: Callable[[int], str | None]) -> str | None:
    """An assignment target that unpacks `result`."""
    match result:
        case Ref(value=value):
            return wanted(value) or "_"
        case Sequence(kind="list" | "tuple", items=items):
            if not _wanted(result, wanted):
                return "_"
            parts = [_pattern(item, wanted) for item in items]
            nested = [f"({part})" if part and ", " in part and part[0] != "(" else part for part in parts]
            texts = [part for part in nested if part is not None]
            if len(texts) < len(items):
                return None
            return f"({texts[0]},)" if len(texts) == 1 else ", ".join(texts)
        case Mapping() | Instance():
            return None if _wanted(result, wanted) else "_"
    return "_"


def _paths(result: Argument, wanted: Callable[[int], str | None], path: str) -> list[tuple[str, str]]:
    """The wanted leaves of `result`, each with the subscripts and attributes that reach it."""
    match result:
        case Ref(value=value):
            name = wanted(value)
            return [] if name is None else [(name, path)]
        case Sequence(items=items):
            steps = [f"[{index}]" for index in range(len(items))]
        case Mapping(keys=keys, items=items):
            steps = [f"[{key}]" for key in keys]
        case Instance(fields=fields, items=items):
            steps = [f".{field}" for field in fields]
        case _:
            return []
    return [leaf for step, item in zip(steps, items, strict=True) for leaf in _paths(item, wanted, path + step)]
