"""Auditing from Python: the virtual device for as long as a block lasts, and what was found of the calls in it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from streamsched.dsl.audit import audited, check_choices
from streamsched.dsl.diagnostic import Diagnostic, Severity
from streamsched.dsl.files import ReadError, read_text
from streamsched.dsl.lint.linting import tell_of_code
from streamsched.dsl.pipeline import config_of
from streamsched.dsl.report import text
from streamsched.dsl.report.report import Report

if TYPE_CHECKING:
    from streamsched.dsl.program.steps import Program
    from streamsched.dsl.record.session import Recording


class Auditor:
    """What `auditing` gives: call it with a forward() and its arguments, and ask for what was found."""

    def __init__(self, recording: Recording, calls: int) -> None:
        self._recording = recording
        self._calls = calls
        self._called = False

    def __call__(self, forward: Callable[..., Any], /, *args: Any, **kwargs: Any) -> None:
        """Call `forward`, a module or a function, as often as `auditing` says, each time with copies of the tensors.

        What it returns is dropped, as a caller drops it. What it raises is raised here; without values, so is
        `NeedsValuesError` where it looks at some, even if it caught that.
        """
        from streamsched.dsl.record.session import arguments

        self._called = True
        self._recording.take(forward)
        for _ in range(self._calls):
            self._recording.call(forward, lambda: arguments(self._recording, args, kwargs))
        for error in self._recording.recorder.refusals.errors:
            raise error

    @property
    def program(self) -> Program:
        """Everything that was recorded so far. Raises `ValueError` where nothing was called."""
        if not self._called:
            raise ValueError("nothing was called: call the auditor with a forward() and its arguments")
        return self._recording.program()

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What is wrong with the calls so far, and remarks, by the settings and comments of the project."""
        if not self._called:
            raise ValueError("nothing was called: call the auditor with a forward() and its arguments")
        found = audited(self._recording)
        config, wrong = config_of(os.path.join(self._recording.device.places.base, "pyproject.toml"))
        return tell_of_code((*wrong, *found), config, (), _read, self.program, well=not wrong).left

    @property
    def faults(self) -> tuple[Diagnostic, ...]:
        """The diagnostics that are errors or warnings."""
        return tuple(each for each in self.diagnostics if each.severity is not Severity.INFO)

    def report(self) -> str:
        """The faults as text for people; empty where there is none."""
        return text.render(Report(self.faults, _read))


@contextlib.contextmanager
def auditing(
    target: str = "cuda", *, calls: int = 2, fake: bool = False, world: int = 0, base: str = ""
) -> Iterator[Auditor]:
    """Put the virtual device in place while the context lasts, and give what audits a forward() on it.

    Models, inputs and streams are made inside of the block. `target` is one of `audit.TARGETS`; each forward() is
    called `calls` times. With `fake` tensors have no values. `world` is the number of ranks, 0 for none. `base` is the
    folder of the user's files, empty for the current one. Raises `ValueError` for an unknown target, and for numbers
    that cannot be.

    For an NPU torch learns that there is a device of that name, and does not forget it in this process.
    """
    check_choices(target, calls, world)
    os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
    from streamsched.dsl.record.session import Recording
    from streamsched.dsl.trace.tracing.world import ranks

    recording = Recording(target, base, real="meta" if fake else "cpu")
    with ranks(world), recording.installed():
        yield Auditor(recording, calls)


def _read(file: str) -> str | None:
    try:
        return read_text(file)
    except ReadError:
        return None
