"""From a schedule's text to its checked program: what `trace`, `lint`, `gen` and `show` share.

Each stage hands on to the next only if it found no error; what it found is kept either way. Nothing is printed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from streamsched.dsl.config.config import DEFAULT, Config
from streamsched.dsl.config.find import find_config
from streamsched.dsl.diagnostic import Diagnostic, Related, Severity
from streamsched.dsl.files import ScheduleFile, read_schedule
from streamsched.dsl.garbage import collector_off
from streamsched.dsl.program.steps import Program
from streamsched.dsl.syntax import tree
from streamsched.dsl.syntax.formatter import format_schedule, format_statement
from streamsched.dsl.syntax.parser import Reading, as_schedule, parse
from streamsched.dsl.trace.model import Trace
from streamsched.dsl.trace.request import EAGER, InputTensor, LeafRequest, ScopeRequest, TraceRequest

if TYPE_CHECKING:
    from streamsched.dsl.plan.index import TraceIndex
    from streamsched.dsl.trace.store import Loaded as Saved

Progress = Callable[[str], None]
"""Called with a few words on what long work is doing now."""

_DETERMINING = (
    tree.ModelStatement,
    tree.FakesStatement,
    tree.ScopeStatement,
    tree.InputStatement,
    tree.InputsFromStatement,
    tree.LeafStatement,
    tree.WorldStatement,
)

_EAGER_TARGETS = frozenset({"npu", "cuda", "cpu"})
"""Targets whose code is not compiled, so that the model's own, too, would run as it is."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """How far a schedule came. `trace` and `program` are None from the stage on that stopped it.

    `stand_ins` are the texts of the statements that stand in for the file's own, under the names that spans give them.
    `config` are the settings of the project that the file belongs to.
    """

    file: ScheduleFile
    schedule: tree.Schedule
    trace: Trace | None = None
    program: Program | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    stand_ins: tuple[ScheduleFile, ...] = ()
    config: Config = DEFAULT

    @property
    def failed(self) -> bool:
        """Whether there are errors, so that nothing may be generated."""
        return has_errors(self.diagnostics)


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether one of them is an error."""
    return any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics)


def load(
    path: str,
    *,
    target: str | None = None,
    instead: tuple[str, ...] = (),
    verbose: bool = False,
    progress: Progress | None = None,
) -> Loaded:
    """Read, parse, trace, plan and check the schedule at `path` (`-` for standard input), as `load_file` does.

    Raises `ReadError`.
    """
    return load_file(read_schedule(path), target=target, instead=instead, verbose=verbose, progress=progress)


def load_file(
    file: ScheduleFile,
    *,
    target: str | None = None,
    instead: tuple[str, ...] = (),
    over: tuple[str, ...] = (),
    verbose: bool = False,
    progress: Progress | None = None,
) -> Loaded:
    """Parse, trace, plan and check a schedule whose text was read, or is being written.

    The saved trace beside it is used; without one the model is traced, and the trace is not saved. `target` stands in
    for the schedule's own, also in what a model is told that is traced anew. `instead` are `model`, `fakes`,
    `input` and `memory` statements that stand in for the schedule's, or are added: spans call their texts `--model`,
    `--fakes`, `--input`, `--inputs-from` and `--memory`, as options that give them, and the model is traced anew.
    `over` are `device` and `sync` statements that stand in for it, with the trace that there is. `verbose` has the
    tracer show what the user's code raised. What neither says, the settings of the project may say.
    """
    parsed = _parsed(file, (*instead, *over))
    trace = _traced if instead else _with_trace
    loaded = trace(parsed, verbose, progress, target)
    with collector_off():
        return _checked(_planned(loaded, target))


def load_open(
    file: ScheduleFile,
    reading: Reading,
    saved: Saved | None,
    index: TraceIndex | None,
    overtaken: Callable[[], bool],
) -> Loaded | None:
    """The same for a schedule that is open in an editor, with its saved trace if it has one; nothing is traced.

    `reading` is what was read of its text, `saved` of that trace, `index` its tables. `overtaken` is asked before each
    stage whether the result is still wanted; None where it is not.
    """
    config, wrong = find_config(file.base, rule_codes)
    parsed = as_schedule(reading, config.preset)
    found = (*wrong, *_with_own_fixes(parsed.diagnostics, file))
    loaded = Loaded(file, parsed.schedule, diagnostics=found, config=config)
    if saved is not None and not loaded.failed:
        loaded = replace(loaded, trace=saved.trace, diagnostics=loaded.diagnostics + saved.diagnostics)
    stages: tuple[Callable[[Loaded], Loaded], ...] = (
        lambda loaded: _against(loaded, None),
        lambda loaded: _planned(loaded, None, index),
        _checked,
    )
    for stage in stages:
        if overtaken():
            return None
        with collector_off():
            loaded = stage(loaded)
    return loaded


def load_trace(path: str, *, verbose: bool = False, progress: Progress | None = None) -> Loaded:
    """Read and parse the schedule at `path` and trace its model anew. Raises `ReadError`."""
    return _traced(_parsed(read_schedule(path)), verbose, progress)


def load_drafted(file: ScheduleFile, trace: Trace) -> Loaded:
    """Parse, plan and check the text of a schedule that is written for a trace at hand."""
    parsed = parse(file.text, file.path)
    loaded = Loaded(file, parsed.schedule, trace, diagnostics=parsed.diagnostics)
    return _checked(_planned(loaded, None))


def load_parsed(path: str, *, instead: tuple[str, ...] = ()) -> Loaded:
    """Read and parse the schedule at `path`, with `instead` as in `load`, and no more. Raises `ReadError`."""
    return _parsed(read_schedule(path), instead)


@dataclass(frozen=True, slots=True)
class Formatted:
    """A schedule's text as it should look; None where syntax errors leave part of it unread, with what was found."""

    file: ScheduleFile
    text: str | None
    diagnostics: tuple[Diagnostic, ...] = ()


def load_formatted(path: str) -> Formatted:
    """Read, parse and format the schedule at `path` (`-` for standard input). Raises `ReadError`."""
    file = read_schedule(path)
    parsed = parse(file.text, file.path)
    if not parsed.complete:
        return Formatted(file, None, parsed.diagnostics)
    return Formatted(file, format_schedule(parsed.schedule))


def trace_request(schedule: tree.Schedule, base: str, target: str | None = None) -> TraceRequest:
    """What to trace for `schedule`, whose paths are relative to `base`. It must have a `model` statement.

    `target` stands in for its own.
    """
    target = target or _target(schedule)
    model = next(s for s in schedule.statements if isinstance(s, tree.ModelStatement))
    inputs = [s for s in schedule.statements if isinstance(s, tree.InputStatement)]
    inputs_from = next((s for s in schedule.statements if isinstance(s, tree.InputsFromStatement)), None)
    name = next((s for s in schedule.statements if isinstance(s, tree.ScheduleStatement)), model)
    scope = next((s for s in schedule.statements if isinstance(s, tree.ScopeStatement)), None)
    fakes = next((s for s in schedule.statements if isinstance(s, tree.FakesStatement)), None)
    world = next((s for s in schedule.statements if isinstance(s, tree.WorldStatement)), None)
    runs = next((s for s in schedule.statements if isinstance(s, tree.TraceStatement)), None)
    compiled = runs.mode == "compiled" if runs else target not in _EAGER_TARGETS
    determining = [format_statement(s) for s in schedule.statements if isinstance(s, _DETERMINING)]
    return TraceRequest(
        base=base,
        file=model.file,
        attribute=model.attribute,
        inputs=tuple(tensor for statement in inputs for spec in statement.specs for tensor in _tensors(spec)),
        inputs_from=(inputs_from.file, inputs_from.attribute) if inputs_from else None,
        determined_by=(*determining, *(() if compiled else (EAGER,))),
        model_span=model.span,
        inputs_span=inputs[0].span if inputs else inputs_from.span if inputs_from else None,
        schedule_span=name.span,
        scope=ScopeRequest(scope.glob, scope.class_name.text if scope.class_name else "", scope.span)
        if scope
        else None,
        leaves=tuple(
            LeafRequest(s.glob, s.span, s.shape) for s in schedule.statements if isinstance(s, tree.LeafStatement)
        ),
        world=world.ranks if world else 0,
        fakes=fakes.file if fakes else "",
        fakes_span=fakes.span if fakes else None,
        compiled=compiled,
        chosen=runs is not None,
        device=target if target in ("cuda", "cpu") else "npu",
        decided=_decided(schedule),
        captured=target not in _EAGER_TARGETS,
    )


def _decided(schedule: tree.Schedule) -> Related | None:
    """What decides whether the model runs compiled: a `trace` statement, else the target; None where none is named."""
    for statement in schedule.statements:
        if isinstance(statement, tree.TraceStatement):
            return Related(statement.span, f"the schedule says `trace {statement.mode}`")
    for statement in schedule.statements:
        if isinstance(statement, tree.TargetStatement):
            target = statement.name.text
            runs = "runs eagerly" if target in _EAGER_TARGETS else "is compiled"
            return Related(statement.span, f"code for the target {target} {runs}")
    return None


def _target(schedule: tree.Schedule) -> str:
    return next((s.name.text for s in schedule.statements if isinstance(s, tree.TargetStatement)), "")


def _tensors(spec: tree.InputSpec) -> list[InputTensor]:
    return [InputTensor(name.text, spec.dtype, spec.dims) for name in spec.names]


def _parsed(file: ScheduleFile, instead: tuple[str, ...] = ()) -> Loaded:
    config, wrong = find_config(file.base, rule_codes)
    texts: dict[str, str] = {}
    for statement in instead:
        keyword = statement.split(maxsplit=1)[0]
        option = "--inputs-from" if keyword == "inputs" else f"--{keyword}"
        texts[option] = f"{texts[option]}\n{statement}" if option in texts else statement
    parsed = parse(file.text, file.path, texts, config.preset)
    stand_ins = tuple(ScheduleFile(option, text, file.base, "") for option, text in texts.items())
    found = (*wrong, *_with_own_fixes(parsed.diagnostics, file))
    return Loaded(file, parsed.schedule, diagnostics=found, stand_ins=stand_ins, config=config)


def _with_own_fixes(found: Iterable[Diagnostic], file: ScheduleFile) -> tuple[Diagnostic, ...]:
    """Findings without the fixes that change something else than the schedule: its settings, say, or an option.

    No verb applies those; what they would do is told as advice.
    """

    def own(diagnostic: Diagnostic) -> Diagnostic:
        fix = diagnostic.fix
        if fix is None or all(edit.span.file == file.path for edit in fix.edits):
            return diagnostic
        return replace(diagnostic, fix=None, help=diagnostic.help or fix.message)

    return tuple(map(own, found))


def config_of(path: str) -> tuple[Config, tuple[Diagnostic, ...]]:
    """The settings for the file at `path`, as far as they are right, and what is wrong with them."""
    return find_config(os.path.dirname(path), rule_codes)


def rule_codes() -> Collection[str]:
    """The codes of all rules."""
    from streamsched.dsl.rules import ALL  # also those that need not be loaded to check a schedule

    return ALL.keys()


def _with_trace(loaded: Loaded, verbose: bool, progress: Progress | None, target: str | None) -> Loaded:
    """With the saved trace if there is one, else with a new one."""
    if loaded.failed:
        return loaded
    file = loaded.file
    if not file.trace_path or not os.path.lexists(file.trace_path):
        return _traced(loaded, verbose, progress, target)

    from streamsched.dsl.trace.store import load as load_saved

    request = trace_request(loaded.schedule, file.base)
    with collector_off():
        saved = load_saved(file.trace_path, request.schedule_span)
    return _against(replace(loaded, trace=saved.trace, diagnostics=loaded.diagnostics + saved.diagnostics), target)


def _against(loaded: Loaded, target: str | None) -> Loaded:
    """Held against its saved trace, if that could be read: whether it is still the trace of this schedule."""
    from streamsched.dsl.trace.freshness import other_mode, staleness, warnings

    if loaded.failed or loaded.trace is None:
        return loaded
    file, trace = loaded.file, loaded.trace
    request = trace_request(loaded.schedule, file.base)
    found = staleness(trace, request)
    found += warnings(trace, request.model_span)
    found += other_mode(trace, trace_request(loaded.schedule, file.base, target))
    return replace(loaded, diagnostics=loaded.diagnostics + found)


def _traced(loaded: Loaded, verbose: bool, progress: Progress | None, target: str | None = None) -> Loaded:
    """With a new trace of the model."""
    if loaded.failed:
        return loaded

    from streamsched.dsl.trace.export import trace_model

    request = trace_request(loaded.schedule, loaded.file.base, target)
    traced = trace_model(request, verbose=verbose, progress=progress)
    return replace(loaded, trace=traced.trace, diagnostics=loaded.diagnostics + traced.diagnostics)


def _planned(loaded: Loaded, target: str | None, index: TraceIndex | None = None) -> Loaded:
    if loaded.failed or loaded.trace is None:
        return loaded

    from streamsched.dsl.plan.planner import plan

    planned = plan(loaded.schedule, loaded.trace, loaded.file.base, target, index)
    found = _with_own_fixes(planned.diagnostics, loaded.file)
    return replace(loaded, program=planned.program, diagnostics=loaded.diagnostics + found)


def _checked(loaded: Loaded) -> Loaded:
    if loaded.failed or loaded.program is None:
        return loaded

    from streamsched.dsl.check.registry import check

    return replace(loaded, diagnostics=loaded.diagnostics + check(loaded.program))
