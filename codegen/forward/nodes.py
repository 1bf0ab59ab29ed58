"""What a generated function consists of: lines, comments, `with` blocks and functions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from streamsched.codegen.pretty.statement import WIDTH, pretty, pretty_def, pretty_with


@dataclass(frozen=True, slots=True)
class Line:
    """A simple statement on one line; it is broken as the formatters would when it is rendered."""

    text: str


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment on a line of its own, without the `#`."""

    text: str


@dataclass(frozen=True, slots=True)
class Block:
    """`with contexts:` and what is in it."""

    contexts: tuple[str, ...]
    body: tuple[Node, ...]

    def __post_init__(self) -> None:
        assert self.contexts and any(isinstance(node, Line | Block) for node in self.body), self


@dataclass(frozen=True, slots=True)
class Function:
    """`def name(parameters):` and what is in it."""

    name: str
    parameters: tuple[str, ...]
    body: tuple[Node, ...]


Node: TypeAlias = Line | Comment | Block | Function


def render(nodes: Iterable[Node], level: int, first: bool = False) -> list[str]:
    """The lines of a body, indented by `level` levels; `first` tells that nothing stands before them in their block."""
    lines: list[str] = []
    comments = 0  # right before the node
    after = False  # whether the node follows a function
    for node in nodes:
        if after:
            lines.append("")
        elif isinstance(node, Function) and (len(lines) > comments or not first):
            lines.insert(len(lines) - comments, "")
        after = isinstance(node, Function)
        comments = comments + 1 if isinstance(node, Comment) else 0
        match node:
            case Line(text=text):
                lines += pretty(text, level)
            case Comment(text=text):
                lines.append(_shorten(f"{' ' * (4 * level)}# {text}"))
            case Block(contexts=contexts, body=body):
                lines += pretty_with(contexts, level)
                lines += render(body, level + 1, first=True)
            case Function(name=name, parameters=parameters, body=body):
                lines += pretty_def(name, parameters, level)
                lines += render(body, level + 1, first=True)
    return lines


def _shorten(line: str) -> str:
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 4].rstrip()} ..."
