"""What linting a schedule found, kept until something that it depends on changes.

An entry is a JSON file in the user's cache folder, named after a digest of the schedule, its trace, the settings, the
options and streamsched itself. It lists what else was read (the model's sources, the versions of packages, a device's
file), which is looked at again before the entry is believed. The folder may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.files import ScheduleFile, file_bytes
from streamsched.dsl.lint.stored import pack, unpack
from streamsched.dsl.lint.told import Told

FORMAT = 1
FOLDER = "STREAMSCHED_CACHE_DIR"
"""The environment variable that names another folder for the cache."""

ENTRIES = 2000
"""How many entries are kept; beyond that, those that were not used for longest go."""


@dataclass(frozen=True, slots=True)
class Read:
    """Something that a check has read besides schedule and trace: a file, or the version of a package."""

    kind: str  # "file" or "package"
    name: str
    state: str  # a digest or a version; empty where it is not there

    def holds(self) -> bool:
        """Whether it still is as it was."""
        return self == (read_file(self.name) if self.kind == "file" else read_package(self.name))


def read_file(path: str) -> Read:
    """The state of a file."""
    try:
        return Read("file", path, hashlib.sha256(file_bytes(path)).hexdigest())
    except OSError:
        return Read("file", path, "")


def read_package(name: str) -> Read:
    """The state of an installed package."""
    from streamsched.dsl.trace.sources import installed_version

    return Read("package", name, installed_version(name) or "")


def key_of(file: ScheduleFile, settings: str) -> str:
    """The name of the entry for a schedule under `settings`, a text of all that decides what is told.

    Empty where there is no saved trace, since what tracing reads cannot be listed.
    """
    if not file.trace_path:
        return ""
    trace = read_file(file.trace_path)
    if not trace.state:
        return ""
    parts = [str(FORMAT), _program(), os.getcwd(), file.path, file.base, file.text, trace.state, settings]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def recall(key: str) -> Told | None:
    """What was told under `key`; None where nothing is kept, or what it depends on has changed."""
    try:
        with open(_path(key), encoding="utf-8") as file:
            entry = json.load(file)
        if not all(Read(*read).holds() for read in entry["read"]):
            return None
        found = tuple(map(unpack, entry["found"]))
        with contextlib.suppress(OSError):
            os.utime(_path(key))
        left, stops = entry["left"], entry["stops"]
        return Told(found, tuple(found[i] for i in left), frozenset(found[i] for i in stops))
    except (OSError, ValueError, KeyError, TypeError, IndexError, AssertionError, RecursionError):
        return None


def remember(key: str, told: Told, read: Iterable[Read]) -> None:
    """Keep what was told under `key`; a cache that cannot be written is no fault."""
    numbers: dict[Diagnostic, int] = {diagnostic: number for number, diagnostic in enumerate(told.found)}
    if not {*told.left, *told.stops} <= numbers.keys():
        return
    entry = {
        "read": [[each.kind, each.name, each.state] for each in dict.fromkeys(read)],
        "found": [pack(diagnostic) for diagnostic in told.found],
        "left": [numbers[diagnostic] for diagnostic in told.left],
        "stops": sorted(numbers[diagnostic] for diagnostic in told.stops),
    }
    path = _path(key)
    beside = f"{path}.{os.getpid()}"
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        _thin_out(os.path.dirname(path))
        with open(beside, "w", encoding="utf-8") as file:
            json.dump(entry, file)
        os.replace(beside, path)


def _thin_out(folder: str) -> None:
    """Keep the folder from growing for ever."""
    with os.scandir(folder) as entries:
        files = [(entry.stat().st_mtime, entry.path) for entry in entries]
    if len(files) >= ENTRIES:
        for _, path in sorted(files)[: len(files) - ENTRIES // 2]:
            with contextlib.suppress(OSError):
                os.unlink(path)


def _path(key: str) -> str:
    folder = os.environ.get(FOLDER)
    if not folder:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        folder = os.path.join(base, "streamsched", "lint")
    return os.path.join(folder, f"{key}.json")


def _program() -> str:
    """The state of streamsched itself and of Python: names, sizes and times of its files."""
    here = os.path.dirname(os.path.abspath(__file__))
    states = [sys.version, *_states(here), *_states(os.path.join(os.path.dirname(here), "grammars"))]
    return hashlib.sha256("\n".join(states).encode()).hexdigest()


def _states(folder: str) -> Iterable[str]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _states(entry.path)
            else:
                status = entry.stat()
                yield f"{entry.path} {status.st_size} {status.st_mtime_ns}"
