"""Which modules in scope are alike, and the `scope` statements that select just those."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from streamsched.dsl.diagnostic import Edit, Fix
from streamsched.dsl.globs import compile_glob
from streamsched.dsl.trace.request import ScopeRequest
from streamsched.dsl.trace.tracing.scope.select import is_of_class, shown

_LISTED = 8


@dataclass(frozen=True, slots=True)
class Advice:
    """How to select the modules of one group only."""

    fix: Fix | None
    help: str | None
    notes: tuple[str, ...]


def advise(scope: ScopeRequest, modules: Mapping[str, torch.nn.Module], groups: Sequence[Sequence[str]]) -> Advice:
    """The statements that select one group of paths each; the fix is that of the largest, if one is the largest."""
    statements = [_statement(scope, modules, group) for group in groups]
    notes = tuple(f"alike: {_group_words(group)}" for group in groups[:_LISTED])
    if len(groups) > _LISTED:
        notes += (f"and {len(groups) - _LISTED} more groups",)
    sizes = sorted((len(group) for group in groups), reverse=True)
    best = next(statement for statement, group in zip(statements, groups, strict=True) if len(group) == sizes[0])
    written = [f"`{statement}`" for statement in statements[:_LISTED] if statement is not None]
    advice = f"select modules that are alike: {' or '.join(written)}" if written else None
    if best is None or len(sizes) < 2 or sizes[0] == sizes[1]:
        return Advice(None, advice, notes)
    return Advice(Fix(f"write `{best}`", (Edit(scope.span, best),)), advice, notes)


def _group_words(group: Sequence[str]) -> str:
    glob = as_glob(group)
    return f"`{glob}` ({len(group)})" if glob is not None and len(group) > 1 else shown(list(group))


def _statement(scope: ScopeRequest, modules: Mapping[str, torch.nn.Module], group: Sequence[str]) -> str | None:
    """A statement that selects exactly `group` of the modules in scope: by their class, else by their range."""
    name = type(modules[group[0]]).__name__
    numbers = as_glob(group)
    candidates = [(scope.glob, name)] if not scope.class_name else []
    candidates += [(numbers, scope.class_name)] if numbers is not None else []
    for glob, cls in candidates:
        pattern = compile_glob(glob)
        if {p for p, m in modules.items() if pattern.fullmatch(p) and is_of_class(m, cls)} == set(group):
            return f'scope "{glob}"' + (f" class {cls}" if cls else "")
    return None


def as_glob(paths: Sequence[str]) -> str | None:
    """A glob that matches just these paths, which differ in one number: `model.layers.{3..60}.mlp`."""
    if len(paths) == 1:
        return paths[0]
    rows = [path.split(".") for path in paths]
    if len({len(row) for row in rows}) != 1:
        return None
    differing = [place for place, column in enumerate(zip(*rows, strict=True)) if len(set(column)) > 1]
    if len(differing) != 1 or not all(row[differing[0]].isdigit() for row in rows):
        return None
    numbers = sorted(int(row[differing[0]]) for row in rows)
    row = list(rows[0])
    if numbers == list(range(numbers[0], numbers[-1] + 1)):
        row[differing[0]] = f"{{{numbers[0]}..{numbers[-1]}}}"
    else:
        row[differing[0]] = "{" + ",".join(map(str, numbers)) + "}"
    return ".".join(row)
