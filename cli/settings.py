"""What the settings of the projects say of the schedules that a verb works on."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from streamsched.dsl.config.find import settings_text

if TYPE_CHECKING:
    from streamsched.dsl.diagnostic import Diagnostic


def excluded_by_settings(file: str) -> bool:
    """Whether a search of folders passes over `file`, by the settings of its project."""
    if not settings_text(os.path.dirname(file)):
        return False
    from streamsched.dsl.pipeline import config_of

    return config_of(file)[0].excludes(file)


def wrong_settings(schedules: Iterable[str]) -> list[Diagnostic]:
    """What is wrong with the settings that some schedules are under, each thing once."""
    folders = dict.fromkeys(map(os.path.dirname, schedules))
    under = [folder for folder in folders if settings_text(folder)]
    if not under:
        return []
    from streamsched.dsl.pipeline import config_of

    found = (wrong for folder in under for wrong in config_of(os.path.join(folder, "_"))[1])
    return list(dict.fromkeys(found))
