"""Renaming groups and streams."""

from __future__ import annotations

import re

from streamsched.dsl.diagnostic import Edit, Span
from streamsched.lsp.document import Document
from streamsched.lsp.found import StreamName, Symbol, symbol_at
from streamsched.lsp.places import Place

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NO_NAMES = ("on", "before")


class CannotRenameError(Exception):
    """The name cannot be changed to that; the message says why, for people."""


def renamable(document: Document, place: Place) -> Span | None:
    """The name at `place` that can be changed: that of a declared group or stream."""
    symbol = symbol_at(document.symbols, place)
    if symbol is None or symbol.name.text not in _declared(document, symbol):
        return None
    return symbol.name.span


def references(document: Document, place: Place, declaration: bool = True) -> list[Span]:
    """Every place that names what is named at `place`; `declaration` tells whether to count where it is declared."""
    symbol = symbol_at(document.symbols, place)
    if symbol is None:
        return []
    return [
        other.name.span
        for other in document.symbols
        if type(other) is type(symbol) and other.name.text == symbol.name.text and (declaration or not other.declares)
    ]


def rename(document: Document, place: Place, name: str) -> tuple[Edit, ...]:
    """The edits that give what is named at `place` the name `name`. Raises `CannotRenameError`."""
    symbol = symbol_at(document.symbols, place)
    if symbol is None or renamable(document, place) is None:
        raise CannotRenameError("only a group or a stream that this schedule declares can be renamed")
    if not _NAME.fullmatch(name):
        raise CannotRenameError(f"`{name}` is no name: a name has letters, digits and `_`, and begins with no digit")
    if name in _NO_NAMES:
        raise CannotRenameError(f"`{name}` is a keyword and cannot be a name")
    if not document.parsed.complete:
        raise CannotRenameError("part of this schedule does not parse, and the name may be used there")
    what = "stream" if isinstance(symbol, StreamName) else "group"
    if name != symbol.name.text and (name in _declared(document, symbol) or (what == "stream" and name == "default")):
        raise CannotRenameError(f"there is a {what} `{name}` already")
    return tuple(Edit(span, name) for span in references(document, place))


def _declared(document: Document, symbol: Symbol) -> dict[str, object]:
    return dict(document.streams if isinstance(symbol, StreamName) else document.groups)
