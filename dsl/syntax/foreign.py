"""Files of another kind, given where a schedule is wanted: one message instead of one for each line."""

from __future__ import annotations

import re

from streamsched.dsl.syntax.source import Fault, Source

_KINDS = (
    (
        re.compile(
            r'(import|from)\s+[\w.]+|(async\s+)?def\s+\w+\s*\(|class\s+\w+\s*[:(]|@\w+|if\s+.*:$|[rbfu]*("""|\'\'\')'
        ),
        "this is a Python file, not a schedule",
    ),
    (re.compile(r'[{\[]\s*$|[{\[]\s*["{\[\d]'), "this is JSON, not a schedule"),
    (re.compile(r"<[!?\w]"), "this is HTML or XML, not a schedule"),
)
_ADVICE = "name a .sched file: its first statement is `schedule NAME`"


def not_text(source: Source) -> Fault | None:
    """The fault of a file with a NUL in it."""
    at = source.text.find("\0")
    if at < 0:
        return None
    advice = "a schedule is UTF-8 text; this may be a binary file or text in UTF-16"
    return Fault(source.span(at, at + 1), "this file is no text: it holds a NUL character", advice)


def foreign(source: Source) -> Fault | None:
    """The fault of a file that begins as files of another kind do; None for what may be a schedule with errors.

    To be asked where the first statement could not be read.
    """
    at = 0
    for line in source.text.splitlines(keepends=True):
        text = line.strip()
        if text and not text.startswith("#"):
            start = at + line.index(text)
            for pattern, message in _KINDS:
                if pattern.match(text):
                    return Fault(source.span(start, start + len(text)), message, _ADVICE)
            return None
        at += len(line)
    return None
