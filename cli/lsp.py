"""`streamsched lsp`: the language server."""

from __future__ import annotations

import sys

import click

from streamsched.cli import console
from streamsched.cli.streams import is_closed


@click.command("lsp", short_help="Run the language server.")
@click.option("--stdio", is_flag=True, help="Speak over standard input and output, as it does anyway.")
def command(stdio: bool) -> int:
    """Run the language server, which an editor starts and speaks with over standard input and output.

    It shows what lint finds while a schedule is typed, and answers what a selector matches, what may be typed next,
    and where things are defined. Models are known from their saved traces; none is traced.

    \b
    Example:
        streamsched lsp
    """
    from importlib.metadata import PackageNotFoundError, version

    try:
        from streamsched.lsp.server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise console.Failure("the language server needs pygls: pip install 'streamsched[lsp]'") from error

    for stream, name in ((sys.stdin, "input"), (sys.stdout, "output")):
        if is_closed(stream):
            raise console.Failure(f"the language server needs standard {name}, which is closed")
    try:
        number = version("streamsched")
    except PackageNotFoundError:
        number = "unknown"
    serve(number)
    return console.CLEAN
