"""The command `streamsched`: finds the verb, runs it, and turns every way to fail into a message and an exit code.

Exit codes: 0 the verb did its work, 1 findings, 2 abnormal (wrong usage, unreadable file, internal error), 130
interrupted. Errors are findings to every verb, warnings to `lint` and `audit`, which only check: what writes or
shows something despite them ends with 0.
"""

from __future__ import annotations

import importlib
import opcode
import os
import sys
from collections.abc import Sequence

import click

from streamsched.cli.console import ABNORMAL, CLEAN, say
from streamsched.cli.streams import safe_streams
from streamsched.dsl.files import ReadError
from streamsched.dsl.nearest import nearest
from streamsched.dsl.saying import said

INTERRUPTED = 130
VERBS = ("init", "trace", "lint", "fmt", "gen", "show", "verify", "audit", "explain", "lsp")


class VerbGroup(click.Group):
    """A group that imports a verb's module only when the verb is asked for, so that `lint` pays for nothing else."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs in the order of a user's work."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a verb; None for an unknown one."""
        if cmd_name not in VERBS:
            return None
        command = importlib.import_module(f"streamsched.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb that the first word names; for an unknown one, say which may be meant."""
        verb = args[0]
        if verb not in VERBS and not verb.startswith("-"):
            near = nearest(verb, VERBS)
            ctx.fail(f"there is no verb {verb}" + (f"; did you mean {near}?" if near else ""))
        return super().resolve_command(ctx, args)


def _print_version(ctx: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    from importlib.metadata import PackageNotFoundError, version

    try:
        click.echo(f"streamsched {version('streamsched')}")
    except PackageNotFoundError:
        click.echo("streamsched (not installed)")
    ctx.exit()


@click.group(cls=VerbGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Show the version."
)
def cli() -> None:
    """Schedules for the streams of a PyTorch model.

    Write which ops run on which stream in a .sched file; streamsched checks it against the traced model and generates
    the annotated forward().

    \b
    Exit code:
        0  all is well; of trace, show, gen and verify also with warnings
        1  findings: errors; of lint and audit warnings, too; of verify outputs that differ; of --check files that do
        2  the work could not be done: wrong use, a file that cannot be read or written
        130  interrupted by Ctrl-C

    \b
    Example:
        streamsched trace model.sched
        streamsched lint  model.sched
        streamsched gen   model.sched -o model_scheduled.py
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    with safe_streams() as lost:
        code = _run(words)
        if lost():
            say("error: cannot write standard output: it is closed")
            return code or ABNORMAL
        return code


def _run(words: list[str]) -> int:
    """Run the verb, and turn what it raises into a message and an exit code."""
    try:
        code = cli.main(args=words, prog_name="streamsched", standalone_mode=False)
        if not sys.stdout.closed:  # the language server closes it at its end
            sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort) as error:
        _say_who_raised(error.__cause__ or error)  # click puts its own in place of Python's
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return ABNORMAL
    except (ReadError, OSError) as error:
        say(f"error: {error}")
        return ABNORMAL
    except Exception as error:
        return _internal_error(error, words)
    return code if isinstance(code, int) else CLEAN


def _say_who_raised(error: BaseException) -> None:
    """Say where code raised an interruption itself; Ctrl-C comes from no statement, and needs no words."""
    if not isinstance(error, KeyboardInterrupt):
        return
    entry = error.__traceback__
    while entry is not None and entry.tb_next is not None:
        entry = entry.tb_next
    if entry is None:
        return
    code = entry.tb_frame.f_code
    if opcode.opname[code.co_code[entry.tb_lasti]] == "RAISE_VARARGS":
        say(f"error: {code.co_qualname}() raises KeyboardInterrupt at {code.co_filename}:{entry.tb_lineno}")


def _internal_error(error: Exception, words: list[str]) -> int:
    """Report a fault of streamsched's own."""
    if "--verbose" in words or os.environ.get("STREAMSCHED_DEBUG"):
        import traceback

        traceback.print_exception(error)
    what = " ".join(said(error).split())[:300]
    say(f"internal error: {type(error).__name__}{': ' if what else ''}{what}")
    say("This is a fault of streamsched, not of your schedule. Please report it with the output of this command under")
    say("STREAMSCHED_DEBUG=1 and, if you may share it, the schedule and its .trace.json.gz.")
    return ABNORMAL


if __name__ == "__main__":
    sys.exit(main())
