"""The options of the verbs that print findings, and printing them: to stdout or a file, in the format asked for."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import IO, Any

import click

from streamsched.cli import console
from streamsched.dsl.diagnostic import Diagnostic, Severity
from streamsched.dsl.files import STDIN, ScheduleFile
from streamsched.dsl.report.formats import FORMATS, WITH_REMARKS, renderer
from streamsched.dsl.report.report import Report
from streamsched.dsl.rule import Rule

_COUNTED = ("text", "concise", "json")


@dataclass(frozen=True, slots=True)
class Output:
    """How findings are printed. `remarks` asks for those of severity info, which some formats have always.

    `file` is `-` for stdout, empty for stderr.
    """

    format: str = "text"
    file: str = STDIN
    statistics: bool = False
    quiet: bool = False
    exit_zero: bool = False
    remarks: bool = False

    def talking(self) -> Output:
        """The same on stderr, where stdout is for data and no file is named."""
        return replace(self, file="") if self.file == STDIN else self

    def shows(self, diagnostic: Diagnostic) -> bool:
        """Whether this finding is printed."""
        return self.remarks or self.format in WITH_REMARKS or diagnostic.severity is not Severity.INFO

    def exit_code(self, found: Iterable[Diagnostic]) -> int:
        """0 without errors and warnings, and wherever asked for, else 1."""
        return console.CLEAN if self.exit_zero else console.exit_code(found)


_OPTIONS = (
    click.option(
        "--output-format",
        type=click.Choice(FORMATS),
        default="text",
        show_default=True,
        help="How findings are printed.",
    ),
    click.option("-o", "--output-file", default=STDIN, metavar="FILE", help="Write findings there, not to stdout."),
    click.option("--statistics", is_flag=True, help="Print how often each rule finds something, not each finding."),
    click.option("-q", "--quiet", is_flag=True, help="Print findings and nothing else: no summary, no hints."),
    click.option("--exit-zero", is_flag=True, help="Exit with 0 in spite of findings."),
)


def with_output(function: Callable[..., int]) -> Callable[..., int]:
    """Give a verb the options of printing; it gets them as `output`, and is given `verbose` in it, too."""

    @functools.wraps(function)
    def packed(
        *, output_format: str, output_file: str, statistics: bool, quiet: bool, exit_zero: bool, **rest: Any
    ) -> int:
        if statistics and output_format not in _COUNTED:
            raise click.UsageError(f"--statistics are printed as {', '.join(_COUNTED)}, not as {output_format}")
        if not output_file:
            raise click.BadParameter(f"name a file, or {STDIN} for standard output", param_hint="-o")
        remarks = bool(rest.get("verbose"))
        output = Output(output_format, output_file, statistics, quiet, exit_zero, remarks)
        return function(output=output, **rest)

    decorated: Callable[..., int] = packed
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


def publish(
    told: Iterable[Diagnostic],
    found: Iterable[Diagnostic],
    checked: Iterable[ScheduleFile],
    output: Output,
    unread: Iterable[tuple[str, str]] = (),
) -> None:
    """Print the findings that are told of those that were found.

    `checked` are the schedules that were checked, or the texts that spans may speak of; `unread` as in `Report`.
    """
    texts = list(checked)
    in_order = tuple(console.in_order(told))
    shown = tuple(diagnostic for diagnostic in in_order if output.shows(diagnostic))
    report = Report(
        shown, console.reader(texts), tuple(text.path for text in texts), _rule, tuple(found), tuple(unread)
    )
    _write(_rendered(report, output), output)
    if not output.quiet and output.format == "text" and not output.statistics:
        _say_summary(report, len(in_order) - len(shown))


def _rendered(report: Report, output: Output) -> str:
    if output.statistics:
        from streamsched.dsl.report import statistics

        return statistics.render_json(report) if output.format == "json" else statistics.render(report)
    if output.format == "text":
        return console.readable(report, _stream(output))
    return renderer(output.format)(report)


def _stream(output: Output) -> IO[str] | None:
    """Where findings are printed; None for a file."""
    return {STDIN: sys.stdout, "": sys.stderr}.get(output.file)


def _write(text: str, output: Output) -> None:
    stream = _stream(output)
    if stream is not None:
        stream.write(text)
        stream.flush()
        return
    from streamsched.cli.files import write_text

    write_text(output.file, text)


def _say_summary(report: Report, hidden: int) -> None:
    if report.diagnostics:
        from streamsched.dsl.report.summary import summary

        console.say(summary(report.diagnostics))
    if hidden and sys.stderr.isatty():
        console.say(f"{hidden} remark{'s are' if hidden > 1 else ' is'} not shown; --verbose shows them")


def _rule(code: str) -> Rule[..., Any] | None:
    from streamsched.dsl.rules import find  # every rule with its page, which few formats need

    return find(code)
