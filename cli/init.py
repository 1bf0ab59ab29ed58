"""`streamsched init`: write a first schedule for a model."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from streamsched.cli import console, files
from streamsched.cli.option_values import refuse_bad_values
from streamsched.dsl.files import STDIN, SUFFIX, TRACE_SUFFIX

if TYPE_CHECKING:
    from streamsched.dsl.init import Drafted


@click.command("init", short_help="Write a first schedule for a model.")
@click.argument("model", metavar="FILE:ATTR", required=False)
@click.option("--from", "source", metavar="FILE:ATTR", help="Code that uses streams by itself: write what it does.")
@click.option("--input", "inputs", multiple=True, metavar="NAME: DTYPE[DIMS]", help="An input of forward(); repeat it.")
@click.option("--inputs-from", default="", metavar="FILE:FN", help="A function that makes the inputs of one call.")
@click.option("-o", "--output", metavar="FILE.sched", help="Where to write the schedule, and its trace beside it.")
@click.option("--name", default="", help="The schedule's name; that of the file where it is left out.")
@click.option("--target", type=click.Choice(["npugraph_ex", "npu", "cuda", "cpu"]), help="What code is generated for.")
@click.option("--scope", default="", metavar="GLOB", help="The modules to schedule instead of the whole model.")
@click.option("--class", "scope_class", default="", metavar="NAME", help="With --scope: only modules of this class.")
@click.option("--leaf", "leaves", multiple=True, metavar="GLOB", help="Modules to trace as one op each; repeat it.")
@click.option("--fakes", default="", metavar="FILE", help="What says what the ops of torch_npu return.")
@click.option("--world", type=click.IntRange(1), help="Trace as one of so many ranks, for models that communicate.")
@click.option("--verbose", is_flag=True, help="Show the traceback of a model that cannot be traced.")
def command(
    model: str | None,
    source: str | None,
    inputs: tuple[str, ...],
    inputs_from: str,
    output: str | None,
    name: str,
    target: str | None,
    scope: str,
    scope_class: str,
    leaves: tuple[str, ...],
    fakes: str,
    world: int | None,
    verbose: bool,
) -> int:
    """Write a first schedule for a model: a group for each submodule or parallel branch, and what might overlap.

    FILE:ATTR is a module, or a function or class that makes one; a package may stand for FILE. The schedule moves
    nothing yet: comments name the groups that might run beside others, and what to write to try it. With --from the
    model uses streams by itself, and the schedule is what it does: its streams, groups and edges. Without -o it goes to
    stdout. Exits with 2 where it cannot be written.

    \b
    Example:
        streamsched init --from "overlapped.py:build" --input "x: bf16[64, 7168]" -o overlapped.sched
        streamsched init "model.py:build" --input "x: bf16[64, 7168]" -o model.sched
        streamsched init "model.py:build" --input "ids: i64[1, 64]" --scope "model.layers.*.mlp" -o mlp.sched
    """
    if (model is None) == (source is None):
        raise click.UsageError("name a model, FILE:ATTR, or code that uses streams by itself, --from FILE:ATTR")
    if bool(inputs) and bool(inputs_from):
        raise click.UsageError("inputs come from --input or from --inputs-from, not from both")
    if scope_class and not scope:
        raise click.UsageError("--class says which modules of --scope are meant; give --scope too")
    _check_output(output)
    from streamsched.dsl.init import Wanted, draft, is_name

    if name and not is_name(name):
        told = f"`{name}` is no name for a schedule: ASCII letters, digits and `_`, no digit first, no keyword"
        raise click.BadParameter(told, param_hint="--name")
    wanted = Wanted(
        source or model or "",
        inputs,
        inputs_from,
        name,
        target or "",
        scope,
        scope_class,
        leaves,
        world or 0,
        fakes,
        "" if output in (None, STDIN) else output or "",
        source is not None,
    )
    with console.tracing() as progress:
        drafted = draft(wanted, verbose=verbose, progress=progress)
    refuse_bad_values(drafted.diagnostics)
    console.print_report(console.worth_telling(drafted.diagnostics), drafted.texts, sys.stderr)
    if drafted.text is None or drafted.trace is None:
        return console.ABNORMAL
    if not wanted.output:
        sys.stdout.write(drafted.text)
        return console.CLEAN

    from streamsched.dsl.trace.store import save

    trace = drafted.trace
    files.write_text(wanted.output, drafted.text)
    files.replace_file(wanted.output.removesuffix(SUFFIX) + TRACE_SUFFIX, lambda beside: save(trace, beside))
    _say_what_is_next(wanted.output, drafted)
    return console.CLEAN


def _say_what_is_next(output: str, drafted: Drafted) -> None:
    groups = f"{drafted.groups} group{'s' if drafted.groups != 1 else ''}"
    if drafted.candidates is None:
        console.say(f"wrote {output}: {groups}")
        console.say(f"next: run `streamsched lint {output}` and `streamsched gen {output} -o FILE.py`")
    else:
        console.say(f"wrote {output}: {groups}, of which {drafted.candidates} might overlap others")
        console.say(f"next: try what its comments propose, then run `streamsched lint {output}`")


def _check_output(output: str | None) -> None:
    """Fail, before any work is done, where the schedule cannot be written, or would replace another."""
    if output is None or output == STDIN:
        return
    files.check_output(STDIN, output)
    if not output.endswith(SUFFIX):
        raise console.Failure(f"{output} is not named like a schedule; name it FILE{SUFFIX}")
    if os.path.lexists(output):
        raise console.Failure(f"{output} is there already, and is left alone; name another file, or delete it")
