"""A document that can be laid out on one line or on several: the algebra under `pretty`.

A `Group` is printed on one line where it fits, else its own lines break, and the groups inside it are tried again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Line:
    """A line break where the group around it breaks, else `flat`."""

    flat: str = ""


@dataclass(frozen=True, slots=True)
class Broken:
    """Text that is there only where the group around it breaks: a trailing comma, an optional parenthesis."""

    text: str


@dataclass(frozen=True, slots=True)
class Indent:
    """What is indented one level deeper, where a line in it breaks."""

    parts: tuple[Document, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """What is on one line, if it fits."""

    parts: tuple[Document, ...]


Document: TypeAlias = str | Line | Broken | Indent | Group

SOFT = Line()
SPACE = Line(" ")


def group(*parts: Document) -> Group:
    """A group of `parts`."""
    return Group(parts)


def indent(*parts: Document) -> Indent:
    """`parts`, one level deeper."""
    return Indent(parts)


def joined(separator: tuple[Document, ...], items: Iterable[tuple[Document, ...]]) -> tuple[Document, ...]:
    """The parts of `items` with `separator` between each two."""
    parts: list[Document] = []
    for item in items:
        parts.extend(separator if parts else ())
        parts.extend(item)
    return tuple(parts)


def flat(parts: Iterable[Document]) -> str:
    """`parts` on one line."""
    texts: list[str] = []
    for part in parts:
        match part:
            case str():
                texts.append(part)
            case Line():
                texts.append(part.flat)
            case Indent() | Group():
                texts.append(flat(part.parts))
    return "".join(texts)


def layout(parts: tuple[Document, ...], level: int, width: int, step: int = 4) -> tuple[str, ...]:
    """`parts` as lines of at most `width` columns where that is possible, indented by `level` levels of `step`."""
    lines = [" " * (level * step)]
    _write(parts, level, False, "", _Page(lines, width, step))
    return tuple(line.rstrip() for line in lines)


@dataclass(frozen=True, slots=True)
class _Page:
    lines: list[str]
    width: int
    step: int

    def fits(self, text: str) -> bool:
        return len(self.lines[-1]) + len(text) <= self.width


def _write(parts: tuple[Document, ...], level: int, broken: bool, rest: str, page: _Page) -> None:
    """Append `parts` to the page; `rest` is what follows them up to the next line break that is taken."""
    for index, part in enumerate(parts):
        match part:
            case str():
                page.lines[-1] += part
            case Line():
                if broken:
                    page.lines.append(" " * (level * page.step))
                else:
                    page.lines[-1] += part.flat
            case Broken():
                page.lines[-1] += part.text if broken else ""
            case Indent():
                _write(part.parts, level + 1, broken, _follows(parts[index + 1 :], broken, rest), page)
            case Group():
                after = _follows(parts[index + 1 :], broken, rest)
                text = flat(part.parts)
                if page.fits(text + after):
                    page.lines[-1] += text
                else:
                    _write(part.parts, level, True, after, page)


def _follows(parts: tuple[Document, ...], broken: bool, rest: str) -> str:
    """The text after a part that must share its line: up to the first line break that may be taken."""
    text = ""
    for part in parts:
        match part:
            case str():
                text += part
            case Line():
                if broken:
                    return text
                text += part.flat
            case Broken():
                text += part.text if broken else ""
            case Indent() | Group():
                head, stopped = _head(part.parts, isinstance(part, Indent) and broken)
                text += head
                if stopped:
                    return text
    return text + rest


def _head(parts: tuple[Document, ...], broken: bool) -> tuple[str, bool]:
    """The text before the first line that may break in `parts`, and whether there is one."""
    text = ""
    for part in parts:
        match part:
            case str():
                text += part
            case Line():
                return text, True
            case Indent() | Group():
                head, stopped = _head(part.parts, broken)
                text += head
                if stopped:
                    return text, True
    return text, False
