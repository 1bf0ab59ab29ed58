"""`streamsched gen`: generate the annotated forward()."""

from __future__ import annotations

import os
import sys

import click

from streamsched.cli import console, files
from streamsched.cli.settings import excluded_by_settings
from streamsched.codegen.targets import TARGETS
from streamsched.dsl.files import STDIN, SUFFIX, ReadError, read_text
from streamsched.dsl.garbage import collector_off

BESIDE = "_scheduled.py"
"""How the name of a generated file ends that lies beside its schedule."""


@click.command("gen", short_help="Generate the annotated forward().")
@click.argument("paths", nargs=-1, metavar="FILE")
@click.option("-o", "--output", metavar="FILE", help="Where to write the generated file instead of to stdout.")
@click.option(
    "--beside",
    is_flag=True,
    help=f"Write NAME{BESIDE} beside each NAME{SUFFIX}; FILE may be several schedules, or folders to search.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Write nothing; exit with 1 if the file of -o or --beside is not what would be generated.",
)
@click.option("--target", type=click.Choice(list(TARGETS)), help="Generate for this target, not the schedule's own.")
def command(paths: tuple[str, ...], output: str | None, beside: bool, check: bool, target: str | None) -> int:
    """Generate the annotated forward() of a schedule.

    Nothing is generated while there are errors. Warnings do not stand in the way; they are shown on stderr. Exits with
    0 when the file is generated, and with 1 for errors, and where --check finds another file than would be generated.
    With --beside --check, schedules in a folder that have no generated file beside them are passed over.

    \b
    Example:
        streamsched gen model.sched -o model_scheduled.py
        streamsched gen model.sched -o model_scheduled.py --check
        streamsched gen --beside --check schedules/
    """
    if beside:
        if output is not None:
            raise click.UsageError("--beside names the files itself; leave out -o, or --beside")
        return _all_beside(paths, check, target)
    if len(paths) != 1:
        wanted = "several need --beside, which names the generated files" if paths else "name it"
        raise click.UsageError(f"gen takes one schedule: {wanted}")
    if check and output is None:
        raise click.UsageError("--check compares with a file; say which with -o FILE, or with --beside")
    return _generate(paths[0], output, check, target)


def _all_beside(paths: tuple[str, ...], check: bool, target: str | None) -> int:
    """Generate, or check, the file beside each schedule; the worst exit code of all."""
    code = console.CLEAN
    for schedule in files.find_schedules(paths, excluded_by_settings):
        if schedule == STDIN:
            raise click.UsageError("--beside needs a schedule's place; standard input has none")
        output = schedule.removesuffix(SUFFIX) + BESIDE
        if check and schedule not in paths and not os.path.lexists(output):
            continue
        try:
            code = max(code, _generate(schedule, output, check, target))
        except ReadError as error:
            console.say(f"error: {error}")
            code = console.ABNORMAL
    return code


def _generate(schedule: str, output: str | None, check: bool, target: str | None) -> int:
    if output is not None:
        files.check_output(schedule, output)
    from streamsched.dsl.linting import remarks_on
    from streamsched.dsl.pipeline import load

    with console.tracing() as progress:
        loaded = load(schedule, target=target, progress=progress)
    console.print_report(console.worth_telling(remarks_on(loaded)), [loaded.file], sys.stderr)
    if loaded.failed or loaded.program is None:
        return console.FINDINGS

    from streamsched.codegen.emitter import generate, is_generated

    with collector_off():
        text = generate(loaded.program, loaded.program.target)
    if check and output is not None:
        return _compare(schedule, output, text)
    if output is not None:
        files.check_replaced(output, lambda data: is_generated(data.decode(errors="replace")))
    if output is None or output == STDIN:
        sys.stdout.write(text)
    else:
        files.write_text(output, text)
    return console.CLEAN


def _compare(schedule: str, output: str, text: str) -> int:
    """Say whether the file `output` is what would be generated."""
    from streamsched.cli.difference import first_differences
    from streamsched.codegen.emitter import same_generated

    if not os.path.lexists(output):
        console.say(f"{output} is missing")
    else:
        old = read_text(output)
        if same_generated(old, text):
            return console.CLEAN
        console.say(f"{output} is stale:\n{first_differences(old, text, output)}")
    console.say(f"run: streamsched gen {schedule} -o {output}")
    return console.FINDINGS
