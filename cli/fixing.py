"""What `lint --fix` and `lint --diff` do with the texts that fixes have changed."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from streamsched.cli import console, files
from streamsched.dsl.files import STDIN_NAME, ScheduleFile
from streamsched.dsl.lint.linted import Linted


def show_changes(before: Sequence[ScheduleFile], after: Sequence[Linted]) -> int:
    """Print what fixes would change; gives the exit code."""
    from streamsched.cli.difference import difference

    code = console.CLEAN
    for file, result in zip(before, after, strict=True):
        if result.fixes:
            sys.stdout.write(difference(file.text, result.file.text, file.path))
            code = console.FINDINGS
    return code


def write_changes(after: Sequence[Linted], quiet: bool) -> None:
    """Write the texts that fixes have changed; what came from standard input goes to stdout, changed or not."""
    for result in after:
        file = result.file
        if file.path == STDIN_NAME:
            sys.stdout.write(file.text)
        elif result.fixes:
            files.write_text(file.path, file.on_disk(file.text))
    fixes = sum(result.fixes for result in after)
    if fixes and not quiet:
        console.say(f"{fixes} fixed")
