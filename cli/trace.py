"""`streamsched trace`: trace the models of schedules."""

from __future__ import annotations

import sys

import click

from streamsched.cli import console, files
from streamsched.dsl.files import STDIN, TRACE_SUFFIX, ReadError


@click.command("trace", short_help="Trace the models of schedules.")
@click.argument("schedules", nargs=-1, required=True, metavar="FILE...")
@click.option("-o", "--output", metavar="FILE", help="Where to write the trace instead of beside the schedule.")
@click.option("--verbose", is_flag=True, help="Show the traceback of a model that cannot be traced.")
def command(schedules: tuple[str, ...], output: str | None, verbose: bool) -> int:
    """Trace the models of schedules, each into FILE.trace.json.gz beside it.

    Nothing is computed and no weights are loaded: the model runs on the meta device. This needs torch; every other
    verb works from the saved trace without it, so commit the trace with the schedule. Exits with 0 when the trace is
    written, warnings or not, and with 1 where errors stand in its way.

    \b
    Example:
        streamsched trace model.sched
    """
    if STDIN in schedules and output is None:
        raise click.UsageError("a schedule from standard input has no place for its trace; say where with -o FILE")
    if output is not None:
        if len(schedules) > 1:
            raise click.UsageError("-o takes one trace; name one schedule, or leave -o out")
        files.check_output(schedules[0], output)
        if not output.endswith(TRACE_SUFFIX):
            files.check_replaced(output, _is_trace)
    return max(_trace(schedule, output, verbose) for schedule in schedules)


def _is_trace(data: bytes) -> bool:
    from streamsched.dsl.trace.store import is_saved_trace

    return is_saved_trace(data)


def _trace(schedule: str, output: str | None, verbose: bool) -> int:
    from streamsched.dsl.lint.linting import remarks_on
    from streamsched.dsl.pipeline import load_trace

    try:
        with console.tracing() as progress:
            loaded = load_trace(schedule, verbose=verbose, progress=progress)
    except ReadError as error:
        console.say(f"error: {error}")
        return console.ABNORMAL
    found = console.in_order(remarks_on(loaded))
    console.print_report(found, [loaded.file], sys.stderr)
    trace = loaded.trace
    if trace is None or loaded.failed:
        return console.FINDINGS

    from streamsched.dsl.trace.store import save

    files.replace_file(output or loaded.file.trace_path, lambda beside: save(trace, beside))
    return console.CLEAN
