"""From a Program to the file with its annotated forward()."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import metadata, resources

import jinja2

from streamsched.codegen.forward.folding import fold
from streamsched.codegen.forward.layout import Comment, Line, layout, render
from streamsched.codegen.forward.names import Names, assign_names
from streamsched.codegen.forward.statements import write_statements
from streamsched.codegen.forward.units import units
from streamsched.codegen.pretty.statement import pretty_def
from streamsched.codegen.targets import TARGETS, Target
from streamsched.dsl.program.steps import DEFAULT, Program, StepKind
from streamsched.dsl.trace.model import Parameter, ParameterKind

_VERSION = "# streamsched: "


def generate(program: Program, target: str) -> str:
    """The text of the generated file for `program`, which must have been built over a trace.

    `target` is a key of `TARGETS`. The file imports torch (and torch_npu), and never streamsched. The same program
    gives the same bytes.
    """
    spelling = TARGETS[target]
    trace = program.trace
    assert trace is not None, "only a program over a trace can be generated"
    printed = units(program, trace, fold(program, trace))
    names = assign_names(program, trace, printed)
    statements = write_statements(printed, names, trace)
    used = _streams_in_use(program) if spelling.has_streams else ()
    body = [
        *_prologue(program, names, used, spelling),
        *layout(program, trace, printed, statements, names, spelling),
    ]
    lines = [*pretty_def("forward", _parameters(trace.parameters)), *render(body, 1)]
    return _template().render(
        schedule=program.name,
        target=spelling,
        schedule_digest=program.schedule_digest,
        trace_digest=trace.digest,
        version=version(),
        root=trace.root.replace(":", "."),
        imports=_imports(spelling, statements.imports, lines),
        forward=lines,
        streams=[
            {"name": program.streams[stream].name, "priority": _priority(program.streams[stream].priority)}
            for stream in used
        ],
        events=len(program.events) if spelling.has_streams else 0,
    )


def same_generated(first: str, second: str) -> bool:
    """Whether two generated files are the same but for the version of streamsched that wrote them."""
    return _lines(first) == _lines(second)


def version() -> str:
    """The version of streamsched; `unknown` where it is not installed."""
    try:
        return metadata.version("streamsched")
    except metadata.PackageNotFoundError:
        return "unknown"


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith(_VERSION)]


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    source = resources.files("streamsched.codegen").joinpath("templates/module.py.jinja")
    return environment.from_string(source.read_text(encoding="utf-8"))


def _streams_in_use(program: Program) -> tuple[int, ...]:
    """The side streams that something runs on. (One that only waits would break the capture of a graph.)"""
    used = {step.stream for step in program.steps if step.kind in (StepKind.LAUNCH, StepKind.ALLOC)}
    return tuple(sorted(used - {DEFAULT}))


def _prologue(program: Program, names: Names, used: tuple[int, ...], target: Target) -> Iterable[Line | Comment]:
    """Fetch the streams and events that `apply` has made."""
    for stream in used:
        options = program.streams[stream]
        yield Line(f'{names.streams[stream]} = self.scheduled_streams["{options.name}"]')
        if not target.limit and (options.aic is not None or options.aiv is not None):
            yield Comment(f"{target.name} cannot limit the cores of {options.name}: {_cores(options.aic, options.aiv)}")
    if used and program.events:
        events = ", ".join(names.events)
        yield Line(f"{f'({events},)' if len(names.events) == 1 else events} = self.scheduled_events")


def _cores(aic: int | None, aiv: int | None) -> str:
    return ", ".join(f"{kind} {number}" for kind, number in (("aic", aic), ("aiv", aiv)) if number is not None)


def _priority(priority: int | None) -> str:
    return "" if priority is None else str(priority)


def _imports(target: Target, more: frozenset[str], lines: list[str]) -> list[str]:
    """The import lines, plain imports first; torch only where the file uses it."""
    uses_torch = target.has_streams or any("torch." in line.partition("#")[0] for line in lines)
    found = {*target.imports, *more, *(["import torch"] if uses_torch else [])}
    return sorted(found, key=lambda line: (line.startswith("from "), line))


def _parameters(parameters: tuple[Parameter, ...]) -> tuple[str, ...]:
    """The parameters of forward() as its `def` has them, `self` included."""
    positional_only = [p for p in parameters if p.kind is ParameterKind.POSITIONAL_ONLY]
    found = ["self"]
    starred = False
    for parameter in parameters:
        if parameter.kind is ParameterKind.KEYWORD_ONLY and not starred:
            found.append("*")
            starred = True
        starred = starred or parameter.kind is ParameterKind.VAR_POSITIONAL
        prefix = {ParameterKind.VAR_POSITIONAL: "*", ParameterKind.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        found.append(f"{prefix}{parameter.name}{f'={parameter.default}' if parameter.default else ''}")
        if positional_only and parameter is positional_only[-1]:
            found.append("/")
    return tuple(found)
