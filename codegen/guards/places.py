"""The places in what forward() is given, as the expressions that lead there: `cache.layers[0].keys`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

STRING = r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'"""
"""What matches a text in an expression, such as a key: what stands in it is no part of the way."""

_CHOSEN = re.compile(r"(?<=\[)self\.[^\]]*(?=\])")


def is_inside(path: str, owner: str) -> bool:
    """Whether a place is reached through `owner`."""
    return path.startswith((f"{owner}.", f"{owner}["))


def owners(expression: str) -> Iterator[str]:
    """What an expression goes through, outermost first: `cache`, `cache.layers`, `cache.layers[0]`."""
    node = ast.parse(expression, mode="eval").body
    chain: list[str] = []
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
        chain.insert(0, ast.get_source_segment(expression, node) or "")
    yield from chain


def is_chosen(expression: str) -> bool:
    """Whether an attribute of `self` chooses an item on the way: `cache.layers[self.layer_idx].keys`."""
    return _CHOSEN.search(expression) is not None


def like(expression: str) -> re.Pattern[str]:
    """What matches an expression in which an attribute of `self` chooses an item, with any number in its place."""
    return re.compile(r"\d+".join(map(re.escape, _CHOSEN.split(expression))))


def through(path: str, chosen: Iterable[str]) -> str:
    """The expression of a place, by way of the one of `chosen` that it can be reached through, if there is one."""
    for owner in chosen:
        match = like(owner).match(path)
        if match is not None and path[match.end() :].startswith((".", "[")):
            return owner + path[match.end() :]
    return path
