"""Linting a schedule: everything that is wrong with it, and what of it is told."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from streamsched.dsl.config.config import Config
from streamsched.dsl.diagnostic import Diagnostic, Severity
from streamsched.dsl.files import ScheduleFile
from streamsched.dsl.lint.cache import Read, read_file, read_package
from streamsched.dsl.lint.linted import Linted
from streamsched.dsl.lint.suppress import MARK, Ignore, in_python, in_schedule
from streamsched.dsl.lint.told import Told, tell
from streamsched.dsl.pipeline import Loaded, Progress, load_file, load_open, rule_codes
from streamsched.dsl.syntax.tree import DeviceFileStatement

if TYPE_CHECKING:
    from streamsched.dsl.plan.index import TraceIndex
    from streamsched.dsl.program.steps import Program
    from streamsched.dsl.syntax.parser import Reading
    from streamsched.dsl.trace.store import Loaded as Saved


def lint(
    file: ScheduleFile,
    *,
    target: str | None = None,
    over: tuple[str, ...] = (),
    adjust: Callable[[Config], Config] = lambda config: config,
    verbose: bool = False,
    progress: Progress | None = None,
) -> Linted:
    """Check a schedule. `target` and `over` are as in `load_file`; `adjust` changes the settings of the project."""
    loaded = load_file(file, target=target, over=over, verbose=verbose, progress=progress)
    return Linted(loaded.file, _tell(loaded, adjust(loaded.config)), loaded.stand_ins, read=tuple(_read(loaded)))


def _read(loaded: Loaded) -> Iterator[Read]:
    """What was read to check a schedule, besides its text, its saved trace and its settings."""
    base = loaded.file.base
    for _, source in loaded.trace.sources if loaded.trace is not None else ():
        if source.package:
            yield read_package(source.package)
        else:
            yield read_file(os.path.join(base, source.path))
    for statement in loaded.schedule.statements:
        if isinstance(statement, DeviceFileStatement):
            yield read_file(os.path.join(base, statement.path))


def lint_open(
    file: ScheduleFile,
    reading: Reading,
    saved: Saved | None,
    index: TraceIndex | None,
    overtaken: Callable[[], bool],
) -> tuple[Diagnostic, ...] | None:
    """What is told of a schedule that is open in an editor; None where it was overtaken. See `load_open`."""
    loaded = load_open(file, reading, saved, index, overtaken)
    return _tell(loaded, loaded.config).left if loaded is not None else None


def remarks_on(loaded: Loaded) -> list[Diagnostic]:
    """What verbs show that only errors stop: all errors, and of the rest what `lint` tells."""
    errors = [diagnostic for diagnostic in loaded.diagnostics if diagnostic.severity is Severity.ERROR]
    left = _tell(loaded, loaded.config).left
    return [*errors, *(diagnostic for diagnostic in left if diagnostic.severity is not Severity.ERROR)]


def _tell(loaded: Loaded, config: Config) -> Told:
    ignores = in_schedule(loaded.schedule) if MARK in loaded.file.text else []
    return tell(loaded.diagnostics, config, ignores, loaded.program is not None, rule_codes)


def tell_of_code(
    diagnostics: Iterable[Diagnostic],
    config: Config,
    files: Iterable[str],
    read: Callable[[str], str | None],
    program: Program | None,
    well: bool,
) -> Told:
    """What to tell of hand-written code that lies in `files`; comments in these and where findings are count.

    `program` is what was recorded, None where the code could not be run, and `well` says that the settings could be
    read. A comment is called unused only where its statement has issued something: no run tells of the others.
    """
    found = tuple(diagnostics)
    named = dict.fromkeys((*files, *(diagnostic.span.file for diagnostic in found)))
    texts = {file: read(file) for file in named if file.endswith(".py")}
    ignores = [ignore for file, text in texts.items() if text for ignore in in_python(text, file)]
    places = (program.span, *(step.source for step in program.steps if step.source is not None)) if program else ()
    ran = {(place.file, place.line) for place in places}

    def has_run(ignore: Ignore) -> bool:
        return any((ignore.span.file, line) in ran for line in range(ignore.first, ignore.last + 1))

    return tell(found, config, ignores, program is not None and well, rule_codes, has_run)
