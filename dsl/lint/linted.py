"""A schedule that was linted."""

from __future__ import annotations

from dataclasses import dataclass

from streamsched.dsl.files import ScheduleFile
from streamsched.dsl.lint.cache import Read
from streamsched.dsl.lint.told import Told


@dataclass(frozen=True, slots=True)
class Linted:
    """A schedule as it was checked, and what is told. `texts` are what its spans may speak of besides files.

    `fixes` counts those that its text has had. `read` is what was read besides schedule, trace and settings.
    """

    file: ScheduleFile
    told: Told
    texts: tuple[ScheduleFile, ...] = ()
    fixes: int = 0
    read: tuple[Read, ...] = ()
