"""`streamsched audit`: run hand-written code on a virtual device and check it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from streamsched.cli import console, files
from streamsched.cli.choosing import Choice, with_choice
from streamsched.cli.option_values import refuse_bad_values
from streamsched.cli.reporting import Output, publish, with_output

if TYPE_CHECKING:
    from streamsched.dsl.audit import Audited
    from streamsched.dsl.program.steps import Program


@click.command("audit", short_help="Check hand-written code that uses streams.")
@click.argument("model", metavar="FILE:ATTR|SCRIPT.py")
@click.argument("arguments", metavar="[-- ARGUMENTS]", nargs=-1, type=click.UNPROCESSED)
@click.option("--input", "inputs", multiple=True, metavar="NAME: DTYPE[DIMS]", help="An input of forward(); repeat it.")
@click.option("--inputs-from", default="", metavar="FILE:FN", help="A function that makes the inputs of one call.")
@click.option(
    "--target",
    type=click.Choice(["cuda", "npu", "npugraph_ex"]),
    default="cuda",
    show_default=True,
    help="What the code is to run on.",
)
@click.option("--calls", type=click.IntRange(1), default=2, show_default=True, help="How often forward() is called.")
@click.option("--fakes", default="", metavar="FILE", help="What registers operators that are not installed here.")
@click.option("--fake", is_flag=True, help="Run without values, for a model of any size.")
@click.option("--against", default="", metavar="FILE.sched", help="A schedule whose edges the code has to honour.")
@click.option("--world", type=click.IntRange(1), help="Run as one of so many ranks, for code that communicates.")
@with_choice
@with_output
@click.option("--verbose", is_flag=True, help="Show remarks too, and the traceback of code that cannot be run.")
def command(
    model: str,
    arguments: tuple[str, ...],
    inputs: tuple[str, ...],
    inputs_from: str,
    target: str,
    calls: int,
    fakes: str,
    fake: bool,
    against: str,
    world: int | None,
    verbose: bool,
    output: Output,
    choice: Choice,
) -> int:
    """Run a hand-written forward(), or a script, on a virtual device, and check its streams, events and memory.

    FILE:ATTR is a module, a function or class that makes one, or the function to call itself; a package may stand for
    FILE. It runs on the CPU, with the values that it makes: no GPU, NPU or torch_npu is needed. Exits with 1 if there
    are errors or warnings. A script gets the arguments behind two dashes.

    \b
    Example:
        streamsched audit "model.py:build" --input "x: bf16[64, 7168]"
        streamsched audit "model.py:build" --input "x: bf16[64, 7168]" --against model.sched
        streamsched audit "model.py:build" --inputs-from "model.py:inputs" --target npugraph_ex
        streamsched audit generate.py -- --layers 2
    """
    files.check_report(output.file, [model.rsplit(":", 1)[0], against, fakes])
    if _is_script(model):
        _refuse_for_script()
        from streamsched.dsl.audit import audit_script

        audited = audit_script(
            model,
            arguments,
            target=target,
            fakes=fakes,
            world=world or 0,
            fake=fake,
            verbose=verbose,
            in_process=True,
        )
        return _told(audited, model, output, choice)
    if arguments:
        raise click.UsageError(f"{model} is no script, and takes no arguments")
    if bool(inputs) and bool(inputs_from):
        raise click.UsageError("inputs come from --input or from --inputs-from, not from both")
    from streamsched.dsl.audit import audit

    audited = audit(
        model,
        inputs,
        inputs_from,
        target=target,
        calls=calls,
        fakes=fakes,
        world=world or 0,
        fake=fake,
        against=against,
        verbose=verbose,
        in_process=True,
    )
    return _told(audited, model, output, choice, calls)


def _told(audited: Audited, model: str, output: Output, choice: Choice, calls: int = 0) -> int:
    """Print what was found in the file of `model`, or in those that it imports. Returns the exit code.

    `calls` is how often it was called, 0 for a script.
    """
    from streamsched.dsl.lint.linting import tell_of_code
    from streamsched.dsl.pipeline import config_of

    refuse_bad_values(audited.diagnostics)
    file = model.rsplit(":", 1)[0]
    config, wrong = config_of(file)
    found, read = (*wrong, *audited.diagnostics), console.reader(audited.texts)
    told = tell_of_code(found, choice.over(config), [file], read, audited.program, well=not wrong)
    publish(told.left, told.found, audited.texts, output)
    if audited.program is not None and not output.quiet and console.exit_code(told.left) == console.CLEAN:
        console.say(f"clean: {_extent(audited.program)}{_times(calls)}")
    return output.exit_code(told.left) if audited.program is not None else console.ABNORMAL


def _extent(program: Program) -> str:
    """How much was checked: the ops that the user's code issued, and the streams that they ran on."""
    from streamsched.dsl.program.steps import StepKind

    streams = [step.stream for step in program.steps if step.kind is StepKind.LAUNCH and step.source is not None]
    return f"{_many(len(streams), 'op')} on {_many(len(set(streams)), 'stream')}"


def _times(calls: int) -> str:
    return f" in {_many(calls, 'call')}" if calls else ""


def _many(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _is_script(model: str) -> bool:
    return model.endswith(".py") and ":" not in model


def _refuse_for_script() -> None:
    """Raise a usage error for options that mean the calls of a forward()."""
    context = click.get_current_context()
    for name in ("inputs", "inputs_from", "calls", "against"):
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = f"--{name.rstrip('s') if name == 'inputs' else name}".replace("_", "-")
            raise click.UsageError(f"a script is run as it is, without {option}; name FILE:ATTR to have it called")
    if context.params["target"] == "npugraph_ex":
        raise click.UsageError("a script has no forward() that npugraph_ex compiles; name FILE:ATTR, or --target npu")
