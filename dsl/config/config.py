"""The settings of a project as values, and what they say of a finding or a file."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from streamsched.dsl.diagnostic import Diagnostic, Severity
from streamsched.dsl.syntax.tree import DeviceFileStatement, DeviceStatement, SyncStatement, TargetStatement

Preset = tuple[TargetStatement | DeviceStatement | DeviceFileStatement | SyncStatement, ...]
"""Statements for schedules that have none of their kind."""

ALL = "ALL"
"""The selector of every rule."""


@dataclass(frozen=True, slots=True)
class Config:
    """What is checked, and how it counts.

    Rules are selected by code or by the beginning of one (`ORD`, `ORD1`); the longer selector has the last word, and
    of equal ones `ignore`. Globs are relative to the folder `root`, empty for the current one.
    """

    root: str = ""
    select: tuple[str, ...] = (ALL,)
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] = ()
    severity: tuple[tuple[str, Severity], ...] = ()
    preset: Preset = ()

    def selects(self, code: str, file: str) -> bool:
        """Whether findings of the rule `code` in `file` are told."""
        if _longest(code, self.ignore) >= _longest(code, self.select):
            return False
        names = _names(file, self.root) if self.per_file_ignores else ()
        return not any(_longest(code, codes) >= 0 and matches(names, glob) for glob, codes in self.per_file_ignores)

    def excludes(self, file: str) -> bool:
        """Whether a search of folders passes over `file`."""
        names = _names(file, self.root) if self.exclude else ()
        return any(matches(names, glob) for glob in self.exclude)

    def graded(self, diagnostic: Diagnostic) -> Diagnostic:
        """A finding with the severity that its rule has here."""
        ranked = [(len(key), severity) for key, severity in self.severity if diagnostic.code.startswith(key)]
        if not ranked:
            return diagnostic
        return replace(diagnostic, severity=max(ranked, key=lambda each: each[0])[1])


def _longest(code: str, selectors: Iterable[str]) -> int:
    """How specific the best of some selectors is; -1 where none selects `code`."""
    lengths = (0 if each == ALL else len(each) for each in selectors if each == ALL or code.startswith(each))
    return max(lengths, default=-1)


def selects_something(selector: str, codes: Collection[str]) -> bool:
    """Whether `selector` is all, a code, or the beginning of one from the family's letters on."""
    return selector == ALL or (len(selector) >= 3 and any(code.startswith(selector) for code in codes))


def _names(file: str, root: str) -> tuple[str, ...]:
    """A file's path from `root`, and those of the folders that hold it, longest first, with slashes."""
    path = os.path.relpath(file, root or ".").replace(os.sep, "/")
    parts = path.split("/")
    return tuple("/".join(parts[: length + 1]) for length in reversed(range(len(parts))))


def matches(names: Iterable[str], glob: str) -> bool:
    """Whether `glob` matches one of some paths; without a slash, the last part of one. `*` matches slashes, too."""
    from fnmatch import fnmatchcase

    glob = glob.strip("/") if glob != "/" else glob
    if "/" in glob:
        return any(fnmatchcase(name, glob) for name in names)
    return any(fnmatchcase(name.rsplit("/", 1)[-1], glob) for name in names)


DEFAULT = Config()
"""The settings of a project that has none."""
