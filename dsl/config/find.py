"""Finding the settings that a file is under."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator

from streamsched.dsl.config.config import DEFAULT, Config
from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.files import ReadError, read_text

NAME = "pyproject.toml"
_KEY = re.compile(
    r"""(?<![\w-])streamsched["']?\s*(?:[.\]]|=(?!=))"""  # our table as a key, however it is spelled
    r"""|\[\s*["']?tool["']?\s*\.\s*["']?streamsched(?![\w-])"""  # its header, also where it is not closed
)
"""What the text of a file with settings contains; a requirement is none."""


def find_config(folder: str, known: Callable[[], Collection[str]]) -> tuple[Config, tuple[Diagnostic, ...]]:
    """The settings for the files in `folder`, and what is wrong with them.

    They come from the nearest pyproject.toml above with a table `[tool.streamsched]`; without one, all is as by
    default. `known` gives the codes of all rules.
    """
    for path, text, why in _candidates(folder):
        from streamsched.dsl.config.read import read_config, unreadable  # reading TOML, and every rule; few need it

        read = unreadable(why, _shown(path)) if why else read_config(text, _shown(path), known)
        if read is not None:
            return read
    return DEFAULT, ()


def settings_text(folder: str) -> str:
    """The text that `find_config` reads, or may read; whatever it says is the same while this is."""
    return "".join(f"{path}\0{text}\0{why}\0" for path, text, why in _candidates(folder))


def _candidates(folder: str) -> Iterator[tuple[str, str, str]]:
    """The files above `folder` that may hold settings, nearest first, with their texts, or why they have none."""
    here = os.path.abspath(folder or ".")
    while True:
        path = os.path.join(here, NAME)
        text, why = _text(path) if _is_meant(path) else ("", "")
        if why or ("tool" in text and _KEY.search(text)):
            yield path, text, why
        above = os.path.dirname(here)
        if above == here:
            return
        here = above


def _is_meant(path: str) -> bool:
    """Whether a file is there, be it a link that leads nowhere; a folder of that name holds no settings."""
    return os.path.lexists(path) and not os.path.isdir(path)


def _text(path: str) -> tuple[str, str]:
    """The text of a file, or why it cannot be read."""
    try:
        return read_text(path), ""
    except ReadError as error:
        return "", error.why


def _shown(path: str) -> str:
    """An absolute path as people would type it."""
    near = os.path.relpath(path)
    return path if near.startswith(os.path.join("..", "..", "")) else near
