"""What the verbs share when they talk: exit codes, findings and progress. Data goes to stdout, talk to stderr."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import IO, TYPE_CHECKING

import click

from streamsched.dsl.diagnostic import Diagnostic, Severity
from streamsched.dsl.files import ReadError, ScheduleFile, read_text

if TYPE_CHECKING:
    from rich.status import Status

    from streamsched.dsl.pipeline import Progress
    from streamsched.dsl.report.report import Report

CLEAN = 0
FINDINGS = 1
ABNORMAL = 2


class Failure(click.ClickException):
    """Something that makes the command's work impossible, with a message for people."""

    exit_code = ABNORMAL

    def show(self, file: IO[str] | None = None) -> None:
        """Print the message as every other message of the command."""
        say(f"error: {self.message}")


def say(text: str) -> None:
    """Talk: a line on stderr."""
    print(text, file=sys.stderr)


def say_unread(errors: Iterable[ReadError]) -> int:
    """Say what cannot be read; gives the exit code."""
    code = CLEAN
    for error in errors:
        say(f"error: {error}")
        code = ABNORMAL
    return code


def exit_code(diagnostics: Iterable[Diagnostic]) -> int:
    """Errors and warnings are findings; information is not."""
    return FINDINGS if any(d.severity is not Severity.INFO for d in diagnostics) else CLEAN


def worth_telling(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Findings in the order of the text, information left out."""
    return in_order(d for d in diagnostics if d.severity is not Severity.INFO)


def in_order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Diagnostics in the order of the text."""
    return sorted(diagnostics, key=lambda diagnostic: (diagnostic.span, diagnostic.code))


def reader(schedules: Iterable[ScheduleFile]) -> Callable[[str], str | None]:
    """What reports read excerpts with: the schedules as they were checked, other files from disk."""
    texts = {schedule.path: schedule.text for schedule in schedules}

    def read(file: str) -> str | None:
        if file in texts:
            return texts[file]
        try:
            return read_text(file)
        except ReadError:
            return None

    return read


def print_report(diagnostics: Iterable[Diagnostic], schedules: Iterable[ScheduleFile], stream: IO[str]) -> None:
    """The report for people on `stream`, and its summary on stderr."""
    found = tuple(diagnostics)
    if not found:
        return
    from streamsched.dsl.report.report import Report
    from streamsched.dsl.report.summary import summary

    stream.write(readable(Report(found, reader(schedules)), stream))
    stream.flush()
    say(summary(found))


def readable(report: Report, stream: IO[str] | None) -> str:
    """The report for people, coloured if `stream` takes colours."""
    if not report.diagnostics:
        return ""
    from streamsched.dsl.report import text
    from streamsched.dsl.report.style import wants_colour

    return text.render(report, colour=stream is not None and wants_colour(stream, os.environ))


@contextlib.contextmanager
def tracing() -> Iterator[Progress | None]:
    """Gives what to report progress with: a spinner on a terminal, else None."""
    if not sys.stderr.isatty():
        yield None
        return
    with contextlib.ExitStack() as stack:
        status: Status | None = None

        def progress(words: str) -> None:
            nonlocal status
            if status is None:
                from rich.console import Console

                status = stack.enter_context(Console(stderr=True).status(words))
            status.update(words)

        yield progress
