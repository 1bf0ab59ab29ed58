"""Finding the settings that a file is under."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator

from streamsched.dsl.config.config import DEFAULT, Config
from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.files import ReadError, read_text

NAME = "pyproject.toml"
MARK = "tool.streamsched"
"""What the text of a file with settings contains."""


def find_config(folder: str, known: Callable[[], Collection[str]]) -> tuple[Config, tuple[Diagnostic, ...]]:
    """The settings for the files in `folder`, and what is wrong with them.

    They come from the nearest pyproject.toml above with a table `[tool.streamsched]`; without one, all is as by
    default. `known` gives the codes of all rules.
    """
    for path, text in _candidates(folder):
        from streamsched.dsl.config.read import read_config  # reading TOML, and every rule; few projects need it

        read = read_config(text, _shown(path), known)
        if read is not None:
            return read
    return DEFAULT, ()


def settings_text(folder: str) -> str:
    """The text that `find_config` reads, or may read; whatever it says is the same while this is."""
    return "".join(f"{path}\0{text}\0" for path, text in _candidates(folder))


def _candidates(folder: str) -> Iterator[tuple[str, str]]:
    """The files above `folder` that may hold settings, nearest first, with their texts."""
    here = os.path.abspath(folder or ".")
    while True:
        path = os.path.join(here, NAME)
        text = _text(path) if os.path.isfile(path) else ""
        if MARK in text:
            yield path, text
        above = os.path.dirname(here)
        if above == here:
            return
        here = above


def _text(path: str) -> str:
    try:
        return read_text(path)
    except ReadError:
        return ""  # a file that nobody can read says nothing


def _shown(path: str) -> str:
    """An absolute path as people would type it."""
    near = os.path.relpath(path)
    return path if near.startswith(os.path.join("..", "..", "")) else near
