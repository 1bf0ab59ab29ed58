"""Reading `[tool.streamsched]`: TOML to settings, with a finding for each thing that is none."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from streamsched.dsl.config.config import ALL, Config, Preset, selects_something
from streamsched.dsl.config.places import Places
from streamsched.dsl.config.rules import invalid_setting, unknown_rule, unknown_setting
from streamsched.dsl.diagnostic import Diagnostic, Severity, Span
from streamsched.dsl.syntax.tree import DeviceFileStatement, DeviceStatement, Name, SyncStatement, TargetStatement

SETTINGS = ("select", "ignore", "per-file-ignores", "exclude", "severity", "device", "target", "sync")
SYNCS = ("explicit", "auto")

_AT = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")

_ON = re.compile(r"on line (\d+)")


def read_config(
    text: str, file: str, known: Callable[[], Collection[str]]
) -> tuple[Config, tuple[Diagnostic, ...]] | None:
    """The settings in the text of the pyproject.toml `file`, and what is wrong with them; None without a table.

    `known` gives the codes of all rules.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return Config(), (_not_toml(str(error), text, file),)
    except RecursionError:
        return Config(), (_not_toml("it nests too deeply", text, file),)
    except ValueError:
        return Config(), (_not_toml("it has a number of too many digits", text, file),)
    tool = document.get("tool")
    table = tool.get("streamsched") if isinstance(tool, dict) else None
    if table is None:
        return None
    reader = _Reader(Places(text, file, "tool.streamsched"), known)
    if not isinstance(table, dict):
        return Config(), (invalid_setting(reader.places.key(), "`tool.streamsched` is a table of settings"),)
    config = reader.config(table, os.path.dirname(file))
    return config, tuple(reader.found)


def unreadable(why: str, file: str) -> tuple[Config, tuple[Diagnostic, ...]]:
    """The settings of a pyproject.toml that cannot be read, and may hold any: the usual ones, and a finding."""
    at = _ON.search(why)
    line = int(at[1]) if at else 1
    message = f"this file cannot be read, and may hold settings: {why}"
    return Config(), (invalid_setting(Span(file, line, 1, line, 1), message),)


def _not_toml(message: str, text: str, file: str) -> Diagnostic:
    at = _AT.search(message)
    lines = text.split("\n")
    line, column = (int(at[1]), int(at[2])) if at and at[1] else (len(lines), len(lines[-1]) + 1)
    said = _AT.sub("", message)
    return invalid_setting(Span(file, line, column, line, column), f"this is no TOML: {said[:1].lower()}{said[1:]}")


@dataclass
class _Reader:
    """Reads values one by one, and keeps what is wrong with them."""

    places: Places
    known: Callable[[], Collection[str]]
    found: list[Diagnostic] = field(default_factory=list)

    def config(self, table: dict[str, Any], root: str) -> Config:
        for key in table:
            if key not in SETTINGS:
                self.found.append(unknown_setting(self.places.key(key), key, SETTINGS))
        per_file = self._table(table, "per-file-ignores")
        return Config(
            root,
            self._selectors(table.get("select", [ALL]), "select"),
            self._selectors(table.get("ignore", []), "ignore"),
            tuple((glob, self._selectors(codes, "per-file-ignores", glob)) for glob, codes in per_file.items()),
            self._strings(table.get("exclude", []), "exclude"),
            self._severities(table),
            self._preset(table, root),
        )

    def _wrong(self, what: str, *path: str) -> None:
        self.found.append(invalid_setting(self.places.key(*path), what))

    def _table(self, table: dict[str, Any], key: str) -> dict[str, Any]:
        value = table.get(key, {})
        if isinstance(value, dict):
            return value
        self._wrong(f"`{key}` is a table", key)
        return {}

    def _strings(self, value: object, *path: str) -> tuple[str, ...]:
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return tuple(value)
        self._wrong(f"`{path[-1]}` is a list of strings", *path)
        return ()

    def _selectors(self, value: object, *path: str) -> tuple[str, ...]:
        selectors = self._strings(value, *path)
        if value == [] and path == ("select",):
            self._wrong(f'`select` names no rule, and nothing would be told; write `["{ALL}"]`, or leave it out', *path)
        for selector in selectors:
            self._check(selector, self.places.value(selector, *path))
        return selectors

    def _check(self, selector: str, span: Span) -> None:
        if not selects_something(selector, self.known()):
            self.found.append(unknown_rule(span, selector, self.known()))

    def _severities(self, table: dict[str, Any]) -> tuple[tuple[str, Severity], ...]:
        levels = {severity.value: severity for severity in Severity}
        result = []
        for selector, level in self._table(table, "severity").items():
            self._check(selector, self.places.key("severity", selector))
            if isinstance(level, str) and level in levels:
                result.append(("" if selector == "ALL" else selector, levels[level]))
            else:
                self._wrong(f"the severity of a rule is {', '.join(levels)}, not {_shown(level)}", "severity", selector)
        return tuple(result)

    def _preset(self, table: dict[str, Any], root: str) -> Preset:
        result: list[TargetStatement | DeviceStatement | DeviceFileStatement | SyncStatement] = []
        for key in ("target", "device", "sync"):
            value = table.get(key)
            if value is None:
                continue
            span = self.places.value(value, key) if isinstance(value, str) else self.places.key(key)
            if key == "sync" and value in SYNCS:
                result.append(SyncStatement(value, span=span))
            elif key == "sync":
                self._wrong(f"`sync` is {' or '.join(SYNCS)}, not {_shown(value)}", key)
            elif key == "device" and isinstance(value, str) and value.endswith(".ini"):
                result.append(DeviceFileStatement(os.path.abspath(os.path.join(root, value)), span=span))
            elif not isinstance(value, str) or not value.isidentifier():
                self._wrong(f"`{key}` is one word in quotes", key)
            elif key == "target":
                result.append(TargetStatement(Name(value, span=span), span=span))
            else:
                result.append(DeviceStatement(Name(value, span=span), span=span))
        return tuple(result)


def _shown(value: object) -> str:
    """A value as it may be written in Python, which refuses to write very long numbers."""
    try:
        return repr(value)
    except ValueError:
        return "a number of so many digits"
