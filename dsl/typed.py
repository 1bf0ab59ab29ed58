"""Findings about a schedule that nobody wrote: the words of a command that stand for its statements."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from streamsched.dsl.diagnostic import Diagnostic, Span
from streamsched.dsl.files import ScheduleFile

HEAD = "<options>"
"""Names the statements that no word of the command stands for."""
MODEL = "FILE:ATTR"
"""Names the argument that stands for the model, as the command's help does."""

_INPUT = re.compile(r"`input (\w+: [^`]*)`")
_WORLD = "add `world N`, N being the number of ranks, to the schedule"


def texts(words: Mapping[str, str], statements: Mapping[str, str]) -> tuple[ScheduleFile, ...]:
    """What findings show: `words` as they were typed, by their options, and `statements` for all others."""
    shown = {**statements, **words}
    return tuple(ScheduleFile(name, text, "", "") for name, text in shown.items())


def as_typed(found: Iterable[Diagnostic], words: Mapping[str, str], model: str) -> tuple[Diagnostic, ...]:
    """The findings, told by the words of the command: of one in `words` all of it is meant, `model` is the model's."""
    return tuple(replace(each, span=_span(each.span, words, model), help=_help(each.help)) for each in found)


def _span(span: Span, words: Mapping[str, str], model: str) -> Span:
    file = model if span.file == HEAD else span.file
    return Span(file, 1, 1, 1, len(words[file]) + 1) if file in words else span


def _help(told: str | None) -> str | None:
    if told is None:
        return None
    return _INPUT.sub(r'`--input "\1"`', told).replace(_WORLD, "give `--world N`, N being the number of ranks")
