"""What `lint --fix` and `lint --diff` do: find what fixes change, and show or write it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from streamsched.cli import console, files
from streamsched.cli.reporting import Output, publish
from streamsched.cli.settings import wrong_settings
from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.files import STDIN_NAME, ScheduleFile
from streamsched.dsl.lint.baseline import Baseline
from streamsched.dsl.lint.fixing import fixed
from streamsched.dsl.lint.linted import Linted
from streamsched.dsl.lint.told import Told


@dataclass(frozen=True, slots=True)
class Mender:
    """Fixes what is printed: neither what is `known`, nor what `output` does not show."""

    check: Callable[[ScheduleFile], Linted]
    unsafe: bool
    known: Baseline | None
    output: Output

    def show_changes(self, schedules: Sequence[ScheduleFile]) -> int:
        """Print what fixes would change; gives the exit code. Settings that are wrong are told on stderr instead."""
        from streamsched.cli.difference import difference

        wrong = wrong_settings(file.path for file in schedules)
        if wrong:
            publish(wrong, wrong, (), self.output.talking())
            return self.output.exit_code(wrong)
        changed = False
        for file in schedules:
            result = self._fixed(file)
            if result.fixes:
                sys.stdout.write(difference(file.text, result.file.text, file.path))
                changed = True
        return console.FINDINGS if changed and not self.output.exit_zero else console.CLEAN

    def write_changes(self, schedules: Sequence[ScheduleFile]) -> tuple[list[Linted], int]:
        """Write the texts that fixes change; gives the schedules as they are then, and the exit code of the writing.

        What came from standard input goes to stdout, changed or not. One file that cannot be written does not keep the
        others from it. Nothing is fixed under settings that are wrong.
        """
        mend = self.check if wrong_settings(file.path for file in schedules) else self._fixed
        code = console.CLEAN
        results = []
        for file in schedules:
            result = mend(file)
            if not _written(result):
                code, result = console.ABNORMAL, self.check(file)
            results.append(result)
        fixes = sum(result.fixes for result in results)
        if fixes and not self.output.quiet:
            console.say(f"{fixes} fixed")
        return results, code

    def _fixed(self, file: ScheduleFile) -> Linted:
        return fixed(file, self.check, self.unsafe, self._printed)

    def _printed(self, told: Told) -> Iterable[Diagnostic]:
        left = self.known.without_known(told).left if self.known is not None else told.left
        return filter(self.output.shows, left)


def _written(result: Linted) -> bool:
    """Write the text of a schedule where it has changed; says why where it cannot."""
    file = result.file
    if file.path == STDIN_NAME:
        sys.stdout.write(file.text)
    elif result.fixes:
        try:
            files.write_text(file.path, file.on_disk(file.text))
        except console.Failure as failure:
            failure.show()
            return False
    return True
