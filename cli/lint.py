"""`streamsched lint`: check schedules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from streamsched.cli import console, files
from streamsched.cli.reporting import Output, publish, with_output
from streamsched.dsl.files import ReadError

if TYPE_CHECKING:
    from streamsched.dsl.diagnostic import Diagnostic
    from streamsched.dsl.files import ScheduleFile


@click.command("lint")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@with_output
@click.option("--verbose", is_flag=True, help="Show remarks too, and the traceback of a model that cannot be traced.")
def command(paths: tuple[str, ...], verbose: bool, output: Output) -> int:
    """Check schedules against their traced models.

    PATH is a schedule, a folder to search for *.sched files, or - for standard input; without one, the current folder.
    A schedule without a saved trace is traced first. Exits with 1 if there are errors or warnings. Remarks (severity
    info) are findings of neither kind; JSON and SARIF always have them.

    \b
    Example:
        streamsched lint examples/
        streamsched lint model.sched --output-format sarif -o findings.sarif
    """
    from streamsched.dsl.pipeline import load

    found: list[Diagnostic] = []
    schedules: list[ScheduleFile] = []
    unreadable = False
    for path in files.find_schedules(paths):
        try:
            with console.tracing() as progress:
                loaded = load(path, verbose=verbose, progress=progress)
        except ReadError as error:
            console.say(f"error: {error}")
            unreadable = True
            continue
        found += loaded.diagnostics
        schedules.append(loaded.file)
    publish(found, schedules, output)
    return console.ABNORMAL if unreadable else output.exit_code(found)
