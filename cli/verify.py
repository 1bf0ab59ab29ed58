"""`streamsched verify`: run what would be generated against the original."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from streamsched.cli import console
from streamsched.cli.option_values import refuse_bad_values

if TYPE_CHECKING:
    from streamsched.dsl.diagnostic import Diagnostic
    from streamsched.dsl.pipeline import Loaded
    from streamsched.verify.ranges import Range
    from streamsched.verify.request import Request


@click.command("verify", short_help="Run the generated forward against the original.")
@click.argument("schedules", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--engine",
    type=click.Choice(["cpu", "npugraph_ex", "npu", "cuda"]),
    default="cpu",
    show_default=True,
    help="What runs the ops.",
)
@click.option("--orders", type=click.IntRange(0, 10_000), default=10, show_default=True, help="Random orders to try.")
@click.option("--calls", type=click.IntRange(1, 100), default=3, show_default=True, help="Calls in a row.")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**31 - 1),
    default=0,
    show_default=True,
    help="Seed of inputs, parameters and orders.",
)
@click.option("--model", metavar="FILE:ATTR", help="A model to run instead: the same, in a size that fits.")
@click.option("--input", "inputs", multiple=True, metavar="SPEC", help='Inputs to use instead: "x: bf16[1, 64]".')
@click.option("--inputs-from", metavar="FILE:FN", help="A function whose inputs to use instead.")
@click.option(
    "--range",
    "ranges",
    multiple=True,
    metavar="NAME=LOW..HIGH",
    help="Integers to draw an input from, both ends included: ids=0..31999. Left out: up to the size of what the input "
    "indexes where the model shows it, else 0..7.",
)
@click.option(
    "--verbose", is_flag=True, help="Show everything that differs, all orders, tracebacks, and the whole launch log."
)
def command(
    schedules: tuple[str, ...],
    engine: str,
    orders: int,
    calls: int,
    seed: int,
    model: str | None,
    inputs: tuple[str, ...],
    inputs_from: str | None,
    ranges: tuple[str, ...],
    verbose: bool,
) -> int:
    """Run the generated forward against the original on random inputs, under many stream orders.

    The engine cpu needs no device: it runs the ops of the plan one by one, in random orders that the plan's
    happens-before allows, and overwrites freed blocks as early as an allocator may. The engines npugraph_ex and npu run
    the real torch_npu, on an NPU if there is one, else on a simulated NPU under adversarial stream orders; cuda needs a
    GPU. Agreement is bit for bit. The forward is generated anew: a file that `gen` wrote before is not looked at, and
    `gen --check` says whether it is what would be generated. A model that is too large is verified in a smaller size
    with --model and --input or --inputs-from. Several schedules for one model are applied to it together.

    \b
    Exit code:
        0  all outputs agree, warnings or not
        1  outputs differ, or the schedule or its model has errors
        2  nothing could be compared: the original raises, an operator has no kernel, an engine is missing
        130  interrupted by Ctrl-C

    \b
    Example:
        streamsched verify model.sched
        streamsched verify model.sched --engine npugraph_ex
        streamsched verify model.sched --model model.py:tiny --input "x: bf16[1, 64]"
        streamsched verify model.sched --range "ids=0..31999"
        streamsched verify attention.sched moe.sched
    """
    from streamsched.dsl.lint.linting import remarks_on
    from streamsched.dsl.pipeline import load
    from streamsched.verify.request import Request

    _refuse_repeated("schedule", map(os.path.realpath, schedules), schedules)
    instead = _stand_ins(model, inputs, inputs_from)
    request = Request(schedules[0], engine, orders, calls, seed, instead, (), _ranges(ranges), verbose, schedules[1:])
    _check(request)
    loaded: list[Loaded] = []
    with console.tracing() as progress:
        target = None if engine == "cpu" else engine
        for schedule in schedules:
            loaded.append(load(schedule, target=target, instead=instead, verbose=verbose, progress=progress))
    for each in loaded:
        refuse_bad_values(each.diagnostics)
        if each.failed and engine == "cpu":
            _refuse_npu_model(each)
        _report(each, console.worth_telling(remarks_on(each)))
    return console.FINDINGS if any(each.failed for each in loaded) else _verify(loaded, request)


def _report(loaded: Loaded, found: Iterable[Diagnostic]) -> None:
    console.print_report(found, [loaded.file, *loaded.stand_ins], sys.stderr)


def _stand_ins(model: str | None, inputs: tuple[str, ...], inputs_from: str | None) -> tuple[str, ...]:
    """The statements that the options spell."""
    given = [("--model", model, f'model "{model}"'), ("--inputs-from", inputs_from, f'inputs from "{inputs_from}"')]
    given += [("--input", spec, f"input {spec}") for spec in inputs]
    for option, text, _ in given:
        if text and ("\n" in text or "\r" in text):
            raise click.UsageError(f"{option} takes one line; repeat the option for more inputs")
    return tuple(statement for _, text, statement in given if text is not None)


def _refuse_repeated(what: str, keys: Iterable[str], spelled: Sequence[str]) -> None:
    seen: set[str] = set()
    for key, text in zip(keys, spelled, strict=True):
        if key in seen:
            raise click.UsageError(f"the {what} {text} is given twice")
        seen.add(key)


def _check(request: Request) -> None:
    """Fail for what cannot be verified, before anything is traced."""
    from streamsched.verify.agreement import check_request
    from streamsched.verify.verdict import CannotRunError

    try:
        check_request(request)
    except CannotRunError as error:
        raise console.Failure(str(error)) from error


def _ranges(texts: tuple[str, ...]) -> tuple[Range, ...]:
    from streamsched.verify.ranges import parse_range

    try:
        ranges = tuple(map(parse_range, texts))
    except ValueError as error:
        raise click.UsageError(f"--range: {error}") from error
    names = [given.name for given in ranges]
    _refuse_repeated("range of input", names, names)
    return ranges


def _refuse_npu_model(loaded: Loaded) -> None:
    """Say which engine a model is for that could not even be traced, since it wants torch_npu."""
    from streamsched.verify.run import NEEDS_NPU, wants_npu

    if any(map(wants_npu, loaded.diagnostics)):
        raise console.Failure(NEEDS_NPU)


def _verify(loaded: list[Loaded], request: Request) -> int:
    from streamsched.verify.render import render
    from streamsched.verify.run import verify
    from streamsched.verify.verdict import CannotRunError

    try:
        verdict = verify(loaded[0], request, loaded[1:])
    except CannotRunError as error:
        if request.verbose and error.details:
            console.say(error.details)
        hint = "\n--verbose shows the traceback" if error.details and not request.verbose else ""
        raise console.Failure(f"{error}{hint}") from error
    if isinstance(verdict, tuple):
        _report(loaded[0], verdict)
        return console.FINDINGS
    click.echo(render(verdict, request.verbose))
    return console.CLEAN if verdict.agrees else console.FINDINGS
