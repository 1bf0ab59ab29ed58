"""`streamsched gen`: generate the annotated forward()."""

from __future__ import annotations

import os
import sys

import click

from streamsched.cli import console, files
from streamsched.codegen.targets import TARGETS
from streamsched.dsl.files import STDIN, read_text


@click.command("gen", short_help="Generate the annotated forward().")
@click.argument("schedule", metavar="FILE")
@click.option("-o", "--output", metavar="FILE", help="Where to write the generated file instead of to stdout.")
@click.option(
    "--check", is_flag=True, help="Write nothing; exit with 1 if the file of -o is not what would be generated."
)
@click.option("--target", type=click.Choice(list(TARGETS)), help="Generate for this target, not the schedule's own.")
def command(schedule: str, output: str | None, check: bool, target: str | None) -> int:
    """Generate the annotated forward() of a schedule.

    Nothing is generated while there are errors. Warnings do not stand in the way; they are shown on stderr.

    \b
    Example:
        streamsched gen model.sched -o model_scheduled.py
        streamsched gen model.sched -o model_scheduled.py --check
    """
    if check and output is None:
        raise click.UsageError("--check compares with a file; say which with -o FILE")
    if output is not None:
        files.check_output(schedule, output)
    from streamsched.dsl.pipeline import load

    with console.tracing() as progress:
        loaded = load(schedule, target=target, progress=progress)
    console.print_report(console.worth_telling(loaded.diagnostics), [loaded.file], sys.stderr)
    if loaded.failed or loaded.program is None:
        return console.FINDINGS

    from streamsched.codegen.emitter import generate

    text = generate(loaded.program, loaded.program.target)
    if check and output is not None:
        return _compare(schedule, output, text)
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
