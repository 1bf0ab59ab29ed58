"""`streamsched show`: the program as a table."""

from __future__ import annotations

import sys

import click

from streamsched.cli import console


@click.command("show", short_help="Show the program as a table.")
@click.argument("schedule", metavar="FILE")
def command(schedule: str) -> int:
    """Show what a schedule makes of its model: streams side by side, why each sync is there, lifetimes.

    Exits with 0 when there is a table to show, warnings or not, and with 1 where errors stand in its way.

    \b
    Example:
        streamsched show model.sched
    """
    from streamsched.dsl.lint.linting import remarks_on
    from streamsched.dsl.pipeline import load

    with console.tracing() as progress:
        loaded = load(schedule, progress=progress)
    console.print_report(console.worth_telling(remarks_on(loaded)), [loaded.file], sys.stderr)
    if loaded.program is None:
        return console.FINDINGS

    from streamsched.codegen.pictures.show import show

    click.echo(show(loaded.program).rstrip("\n"))
    return console.FINDINGS if loaded.failed else console.CLEAN
