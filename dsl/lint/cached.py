"""Linting what has changed since it was last linted."""

from __future__ import annotations

from collections.abc import Callable

from streamsched.dsl.config.find import settings_text
from streamsched.dsl.files import ScheduleFile
from streamsched.dsl.lint.cache import key_of, recall, remember
from streamsched.dsl.lint.linted import Linted


def cached(file: ScheduleFile, options: str, check: Callable[[ScheduleFile], Linted]) -> Linted:
    """What `check` finds in a schedule, from the cache where nothing has changed.

    `options` is a text of all that `check` goes by besides the settings of the project.
    """
    key = key_of(file, f"{options}\0{settings_text(file.base)}")
    told = recall(key) if key else None
    if told is not None:
        return Linted(file, told)
    linted = check(file)
    if key and not linted.texts:
        remember(key, linted.told, linted.read)
    return linted
