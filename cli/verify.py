"""`streamsched verify`: run what would be generated against the original."""

from __future__ import annotations

import sys

import click

from streamsched.cli import console


@click.command("verify", short_help="Run the generated forward against the original.")
@click.argument("schedule", metavar="FILE")
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
def command(
    schedule: str, engine: str, orders: int, calls: int, seed: int, model: str | None, inputs: tuple[str, ...]
) -> int:
    """Run the generated forward against the original on random inputs, under many stream orders.

    The engine cpu needs no device: it runs the ops of the plan one by one, in random orders that the plan's
    happens-before allows, and overwrites freed blocks as early as an allocator may. The engines npugraph_ex and npu run
    the real torch_npu, on an NPU if there is one, else on a simulated NPU under adversarial stream orders; cuda needs a
    GPU. Agreement is bit for bit. A model that is too large is verified in a smaller size with --model and --input.

    \b
    Example:
        streamsched verify model.sched
        streamsched verify model.sched --engine npugraph_ex
        streamsched verify model.sched --model model.py:tiny --input "x: bf16[1, 64]"
    """
    from streamsched.dsl.pipeline import load

    instead = tuple([f'model "{model}"'] if model else []) + tuple(f"input {spec}" for spec in inputs)
    with console.tracing() as progress:
        loaded = load(schedule, target=None if engine == "cpu" else engine, instead=instead, progress=progress)
    console.print_report(console.worth_telling(loaded.diagnostics), [loaded.file], sys.stderr)
    if loaded.failed:
        return console.FINDINGS

    from streamsched.verify.render import render
    from streamsched.verify.request import Request
    from streamsched.verify.run import EngineError, verify

    try:
        verdict = verify(loaded, Request(schedule, engine, orders, calls, seed, instead))
    except EngineError as error:
        raise console.Failure(str(error)) from error
    if isinstance(verdict, tuple):
        console.print_report(verdict, [loaded.file], sys.stderr)
        return console.FINDINGS
    click.echo(render(verdict))
    return console.CLEAN if verdict.agrees else console.FINDINGS
