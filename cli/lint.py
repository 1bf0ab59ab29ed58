"""`streamsched lint`: check schedules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

from streamsched.cli import console, files
from streamsched.cli.choosing import Choice, statements, with_choice
from streamsched.cli.reporting import Output, publish, with_output
from streamsched.cli.settings import excluded_by_settings
from streamsched.dsl.files import STDIN, ReadError, ScheduleFile, read_schedule
from streamsched.dsl.lint.cached import cached
from streamsched.dsl.syntax.statement_rules import TARGETS

if TYPE_CHECKING:
    from streamsched.dsl.lint.baseline import Baseline
    from streamsched.dsl.lint.linted import Linted


@click.command("lint")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--fix", is_flag=True, help="Apply the fixes that are safe.")
@click.option("--unsafe-fixes", is_flag=True, help="Apply the others, too; look at what they do.")
@click.option("--diff", is_flag=True, help="Write nothing; print what fixes would change, and exit with 1 if anything.")
@with_choice
@click.option("--exclude", multiple=True, metavar="GLOB", help="Pass over such files and folders in a search.")
@click.option("--target", type=click.Choice(TARGETS), help="Check for this target, not the schedules' own.")
@click.option("--device", help="Check for this device, not the schedules' own.")
@click.option("--sync", type=click.Choice(["explicit", "auto"]), help="Check as if the schedules said so.")
@click.option("--baseline", metavar="FILE", help="Tell of no finding that this file knows.")
@click.option("--write-baseline", metavar="FILE", help="Write all findings to this file, as known from now on.")
@click.option("--no-cache", is_flag=True, help="Check anew what was checked before and has not changed.")
@with_output
@click.option("--verbose", is_flag=True, help="Show remarks too, and the traceback of a model that cannot be traced.")
def command(
    paths: tuple[str, ...],
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    exclude: tuple[str, ...],
    target: str | None,
    device: str | None,
    sync: str | None,
    baseline: str | None,
    write_baseline: str | None,
    no_cache: bool,
    verbose: bool,
    output: Output,
    choice: Choice,
) -> int:
    """Check schedules against their traced models.

    PATH is a schedule, a folder to search for *.sched files, or - for standard input; without one, the current folder.
    A schedule without a saved trace is traced first. Exits with 1 if there are errors or warnings. Remarks (severity
    info) are findings of neither kind; JSON and SARIF always have them. Options come before what [tool.streamsched] in
    the nearest pyproject.toml says.

    \b
    Example:
        streamsched lint examples/
        streamsched lint --fix model.sched
        streamsched lint --select ORD,MEM --output-format sarif -o findings.sarif
    """
    over = statements(device, sync)
    _check_together(diff, write_baseline, output)
    _check_written(paths, baseline, write_baseline, output)
    known = _known(baseline) if write_baseline is None else None

    def check(file: ScheduleFile) -> Linted:
        from streamsched.dsl.lint.linting import lint

        with console.tracing() as progress:
            return lint(file, target=target, over=over, adjust=choice.over, verbose=verbose, progress=progress)

    schedules, unread = _read(*files.find_schedules(paths, _excluded(exclude)))
    code = console.ABNORMAL if unread else console.CLEAN
    if fix or unsafe_fixes or diff:
        from streamsched.cli.fixing import Mender

        mender = Mender(check, unsafe_fixes, known, output)
        if diff:
            return max(code, mender.show_changes(schedules))
        linted, written = mender.write_changes(schedules)
        code = max(code, written)
        output = output.talking() if STDIN in paths else output
    else:
        options = repr((target, over, choice))
        linted = [check(file) if no_cache else cached(file, options, check) for file in schedules]
    return max(code, _tell(linted, known, baseline or "", write_baseline, output, unread))


def _check_together(diff: bool, write_baseline: str | None, output: Output) -> None:
    """Raise a usage error for options of which one would have no effect, or would undo the other's."""
    if diff:
        for option, given in (
            ("-o", output.file != STDIN),
            ("--output-format", output.format != "text"),
            ("--statistics", output.statistics),
            ("--write-baseline", write_baseline is not None),
        ):
            if given:
                raise click.UsageError(f"--diff prints what fixes would change, and no findings: leave out {option}")
    if write_baseline is not None and output.file != STDIN and files.same_file(output.file, write_baseline):
        raise click.UsageError(f"-o and --write-baseline both name {write_baseline}; name two files")


def _check_written(paths: tuple[str, ...], baseline: str | None, write_baseline: str | None, output: Output) -> None:
    """Fail, before any work is done, where a report or a baseline would replace what somebody wrote."""
    files.check_report(output.file, [*paths, *(path for path in (baseline, write_baseline) if path is not None)])
    if write_baseline is not None:
        from streamsched.dsl.lint.baseline import is_baseline

        files.check_output(STDIN, write_baseline)
        files.check_replaced(write_baseline, is_baseline, "--write-baseline")


def _excluded(globs: tuple[str, ...]) -> Callable[[str], bool]:
    """Whether a search passes over a file: by the globs of the command line, else by the settings of its project."""
    from streamsched.dsl.config.config import Config

    return Config(exclude=globs).excludes if globs else excluded_by_settings


def _read(paths: Iterable[str], unlisted: list[ReadError]) -> tuple[list[ScheduleFile], list[tuple[str, str]]]:
    """The schedules that can be read, and those that cannot, with why, as folders that are `unlisted`."""
    schedules, errors = [], list(unlisted)
    for path in paths:
        try:
            schedules.append(read_schedule(path))
        except ReadError as error:
            errors.append(error)
    console.say_unread(errors)
    return schedules, [(error.file, str(error)) for error in errors]


def _known(path: str | None) -> Baseline | None:
    """The baseline at a path, if one is given."""
    if path is None:
        return None
    from streamsched.dsl.lint.baseline import read_baseline

    return read_baseline(path)


def _tell(
    linted: list[Linted],
    known: Baseline | None,
    baseline: str,
    write_baseline: str | None,
    output: Output,
    unread: list[tuple[str, str]],
) -> int:
    """Print what is told, less what is `known` by the file `baseline`, or known from now on."""
    tolds = [each.told for each in linted]
    if write_baseline is not None:
        from streamsched.cli.known import write_known

        tolds = write_known(tolds, len(unread), write_baseline, output.quiet)
    elif known is not None:
        from streamsched.cli.known import without_known

        tolds = without_known(tolds, [each.file.path for each in linted], known, baseline, output.quiet)
    left = dict.fromkeys(diagnostic for told in tolds for diagnostic in told.left)
    found = dict.fromkeys(diagnostic for told in tolds for diagnostic in told.found)
    publish(left, found, [text for each in linted for text in (each.file, *each.texts)], output, unread)
    return output.exit_code(left)
