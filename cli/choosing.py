"""The options that say what is checked and told, over what pyproject.toml says."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import click

from streamsched.dsl.config.config import Config
from streamsched.dsl.diagnostic import Severity

_RULES = "[CODE,...]"
_OPTIONS = (
    click.option("--select", multiple=True, metavar=_RULES, help="Tell of these rules only: codes, or how they begin."),
    click.option("--ignore", multiple=True, metavar=_RULES, help="Do not tell of these rules."),
    click.option("--severity", multiple=True, metavar="CODE=LEVEL", help="Count a rule as error, warning or info."),
)
_WORD = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class Choice:
    """What the command line says in place of the project's settings; empty where it says nothing."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severity: tuple[tuple[str, Severity], ...] = ()

    def over(self, config: Config) -> Config:
        """The settings to go by."""
        severity = tuple((dict(config.severity) | dict(self.severity)).items())
        return replace(
            config, select=self.select or config.select, ignore=self.ignore or config.ignore, severity=severity
        )


def with_choice(function: Callable[..., int]) -> Callable[..., int]:
    """Give a verb these options; it gets them as `choice`."""

    @functools.wraps(function)
    def packed(*, select: tuple[str, ...], ignore: tuple[str, ...], severity: tuple[str, ...], **rest: Any) -> int:
        choice = Choice(_selectors(select, "--select"), _selectors(ignore, "--ignore"), _severities(severity))
        return function(choice=choice, **rest)

    decorated: Callable[..., int] = packed
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


def statements(device: str | None, sync: str | None) -> tuple[str, ...]:
    """The statements that options stand for. A device is a name or a file of CANN's, from the current folder."""
    result = [f"sync {sync}"] if sync is not None else []
    if device is not None and device.endswith(".ini") and '"' not in device:
        path = os.path.abspath(device).replace("\\", "\\\\")
        result.append(f'device "{path}"')
    elif device is not None:
        if not _WORD.fullmatch(device):
            raise click.BadParameter(
                f"{device!r} is neither a name nor a file of CANN's, FILE.ini", param_hint="--device"
            )
        result.append(f"device {device}")
    return tuple(result)


def _selectors(given: tuple[str, ...], option: str) -> tuple[str, ...]:
    words = tuple(word.strip() for each in given for word in each.split(",") if word.strip())
    if words:
        _check(words, option)
    elif given and option == "--select":
        raise click.BadParameter("name a rule, or ALL for all", param_hint=option)
    return words


def _check(words: tuple[str, ...], option: str) -> None:
    from streamsched.dsl.config.config import selects_something
    from streamsched.dsl.config.rules import unknown_rule
    from streamsched.dsl.diagnostic import Span
    from streamsched.dsl.pipeline import rule_codes

    for word in words:
        if not selects_something(word, rule_codes()):
            wrong = unknown_rule(Span(option, 1, 1, 1, 1), word, rule_codes())
            raise click.BadParameter(f"{wrong.message}; {wrong.help}", param_hint=option)


def _severities(given: tuple[str, ...]) -> tuple[tuple[str, Severity], ...]:
    levels = {severity.value: severity for severity in Severity}
    result = []
    for each in given:
        code, _, level = each.partition("=")
        if level not in levels:
            raise click.BadParameter(
                f"{each!r} is not CODE=LEVEL, a level being {', '.join(levels)}", param_hint="--severity"
            )
        _check((code,), "--severity")
        result.append(("" if code == "ALL" else code, levels[level]))
    return tuple(result)
