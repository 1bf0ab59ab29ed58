"""`streamsched fmt`: format schedules."""

from __future__ import annotations

import sys

import click

from streamsched.cli import console, files
from streamsched.cli.settings import excluded_by_settings, wrong_settings
from streamsched.dsl.files import STDIN, ReadError


@click.command("fmt")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if a file is not formatted.")
@click.option("--diff", is_flag=True, help="Write nothing; print what would change, and exit with 1 if anything would.")
def command(paths: tuple[str, ...], check: bool, diff: bool) -> int:
    """Format schedules in place.

    PATH is a schedule, a folder to search for *.sched files, or - to format standard input to stdout; without one, the
    current folder. A file with syntax errors is left as it is.

    \b
    Example:
        streamsched fmt examples/
        streamsched fmt --check .
    """
    schedules, unlisted = files.find_schedules(paths, excluded_by_settings)
    code = console.say_unread(unlisted)
    wrong = wrong_settings(schedules)
    if wrong:
        console.print_report(wrong, (), sys.stderr)
        return max(code, console.FINDINGS)
    return max([code, *(_format(path, check, diff) for path in schedules)])


def _format(path: str, check: bool, diff: bool) -> int:
    from streamsched.dsl.pipeline import load_formatted

    try:
        formatted = load_formatted(path)
    except ReadError as error:
        console.say(f"error: {error}")
        return console.ABNORMAL
    file, text = formatted.file, formatted.text
    if text is None:
        console.print_report(console.in_order(formatted.diagnostics), [file], sys.stderr)
        return console.FINDINGS
    changed = text != file.text
    if diff and changed:
        from streamsched.cli.difference import difference

        sys.stdout.write(difference(file.text, text, file.path))
    if check and changed:
        console.say(f"would reformat {file.path}")
    if check or diff:
        return console.FINDINGS if changed else console.CLEAN
    if path == STDIN:
        sys.stdout.write(text)
    elif changed:
        try:
            files.write_text(path, file.on_disk(text))
        except console.Failure as failure:  # one file does not keep the others from being formatted
            failure.show()
            return failure.exit_code
    return console.CLEAN
