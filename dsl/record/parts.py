"""Parts of storages: what streams do with disjoint parts of one tensor needs no order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from streamsched.dsl.program.steps import Parts, Program
from streamsched.dsl.record.log import Entry
from streamsched.dsl.record.overlap import View, overlap
from streamsched.dsl.record.views import all_accesses

LIMIT = 256
"""How many views of a storage are looked at, and into how many parts it is taken; beyond that it stays whole."""

Division: TypeAlias = dict[View | None, tuple[int, ...]]
"""By view of a storage the parts that it touches; by None all of them."""


def in_parts(program: Program, entries: Sequence[Entry], numbers: Mapping[int, int]) -> Program:
    """The program with the parts of each storage of which several streams touch disjoint ones.

    Two accesses to a storage touch the same part where their views overlap, and only there. `entries` are what the
    steps were made of, and `numbers` the program's storages by those of the entries.
    """
    divided: dict[int, Division] = {}
    owners: list[int] = []
    for storage, use in _uses(entries).items():
        found = divide(list(use.views)) if len(use.streams) > 1 else []
        if found:
            first = len(program.storages) + len(owners)
            count = 1 + max(part for parts in found for part in parts)
            divided[storage] = {None: tuple(range(first, first + count))}
            for view, parts in zip(use.views, found, strict=True):
                divided[storage][view] = tuple(first + part for part in parts)
            owners += [numbers[storage]] * count
    if not divided:
        return program
    steps = [
        replace(step, parts=_parts(entry, divided, numbers)) if _touches(entry, divided) else step
        for step, entry in zip(program.steps, entries, strict=True)
    ]
    return replace(program, steps=tuple(steps), parts=tuple(owners))


def divide(views: Sequence[View]) -> list[tuple[int, ...]]:
    """By view the parts that it touches, numbered from 0; empty where the storage is better left whole.

    Those that touch a part all overlap, each with each, so that a part is what a storage is: what touches it conflicts.
    """
    filled = [index for index, view in enumerate(views) if not view.is_empty]
    if len(filled) < 2 or len(filled) > LIMIT:
        return []
    neighbours = _overlapping(views, filled)
    if all(len(neighbours[index]) == len(filled) for index in filled):
        return []
    parts: list[list[int]] = [[] for _ in views]
    for part, group in enumerate(_groups(neighbours)):
        if part == LIMIT:
            return []
        for index in group:
            parts[index].append(part)
    return [tuple(each) for each in parts]


def _overlapping(views: Sequence[View], filled: Sequence[int]) -> dict[int, set[int]]:
    """By view all that it overlaps, itself among them."""
    found: dict[int, set[int]] = {index: {index} for index in filled}
    behind: list[int] = []  # those that begin before the view at hand, and do not end before it
    for index in sorted(filled, key=lambda each: views[each].first):
        behind = [each for each in behind if views[each].last >= views[index].first]
        for other in behind:
            if overlap(views[index], views[other]):
                found[index].add(other)
                found[other].add(index)
        behind.append(index)
    return found


def _groups(neighbours: Mapping[int, set[int]]) -> Iterator[list[int]]:
    """Groups of views that all overlap each other, so that any two which overlap are together in one."""
    together: dict[int, set[int]] = {index: set() for index in neighbours}
    for index in neighbours:
        for other in sorted(neighbours[index]):  # itself as well, so that a view without neighbours is one group
            if other in together[index] or (other == index and len(neighbours[index]) > 1):
                continue
            group = [index, other] if other != index else [index]
            common = neighbours[index] & neighbours[other] - set(group)
            while common:
                group.append(min(common))
                common &= neighbours[group[-1]]
                common.discard(group[-1])
            for each in group:
                together[each].update(group)
            yield group


@dataclass(slots=True)
class _Use:
    """Through which views a storage is touched, if not as a whole, and on which streams."""

    views: dict[View, None] = field(default_factory=dict)
    streams: set[int] = field(default_factory=set)


def _uses(entries: Sequence[Entry]) -> dict[int, _Use]:
    """The use of each storage that something touches a part of."""
    found = {access.storage: _Use() for entry in entries for access in entry.views if access.view is not None}
    for entry in entries if found else ():
        if _touches(entry, found):
            for access in all_accesses(entry):
                if access.storage in found:
                    found[access.storage].streams.add(entry.stream)
                    if access.view is not None:
                        found[access.storage].views[access.view] = None
    return found


def _touches(entry: Entry, storages: Mapping[int, object]) -> bool:
    return any(storage in storages for storage in (*entry.reads, *entry.writes))


def _parts(entry: Entry, divided: Mapping[int, Division], numbers: Mapping[int, int]) -> Parts:
    """What an entry touches, by part."""
    touched: tuple[dict[int, None], dict[int, None]] = ({}, {})
    for access in all_accesses(entry):
        division = divided.get(access.storage)
        keys = (numbers[access.storage],) if division is None else division[access.view]
        touched[access.written].update(dict.fromkeys(keys))
    return Parts(tuple(touched[False]), tuple(touched[True]))
