"""Writing schedules for the user: from the words of a request to the text of a schedule that fits its trace."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from streamsched.dsl import typed
from streamsched.dsl.diagnostic import Diagnostic, Span
from streamsched.dsl.draft.derived import derived_schedule
from streamsched.dsl.draft.first import first_schedule
from streamsched.dsl.draft.names import identifier, snake_case
from streamsched.dsl.files import SUFFIX, ReadError, ScheduleFile, read_text
from streamsched.dsl.pipeline import Loaded, Progress, has_errors, load_drafted, trace_request
from streamsched.dsl.program.steps import StepKind
from streamsched.dsl.record.rules import no_side_stream
from streamsched.dsl.syntax.formatter import format_schedule
from streamsched.dsl.syntax.parser import parse
from streamsched.dsl.syntax.tree import ScheduleStatement
from streamsched.dsl.trace.model import Trace
from streamsched.dsl.trace.request import Traced, TraceRequest
from streamsched.dsl.trace.streamed import Streamed

_STANDARD_OUTPUT = "<stdout>"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to write a schedule for, in the user's words.

    `model` is "FILE-OR-PACKAGE:ATTR", `inputs` are written as in `input` statements, `inputs_from` names a function
    that makes them; files are relative to the working directory. Empty is what was not given; `output` is the file
    that the schedule is for, which its paths are relative to.
    """

    model: str
    inputs: tuple[str, ...] = ()
    inputs_from: str = ""
    name: str = ""
    target: str = ""
    scope: str = ""
    scope_class: str = ""
    leaves: tuple[str, ...] = ()
    world: int = 0
    fakes: str = ""
    output: str = ""
    implemented: bool = False  # the model uses streams by itself, and its own schedule is wanted


@dataclass(frozen=True, slots=True)
class Drafted:
    """A schedule's text, canonical, with the trace that it was held against; both None where there is no trace.

    `groups` and `candidates` count its groups and those that might overlap others, None where that is not asked.
    `texts` are what spans may speak of besides the user's files.
    """

    text: str | None
    trace: Trace | None
    diagnostics: tuple[Diagnostic, ...]
    texts: tuple[ScheduleFile, ...] = ()
    groups: int = 0
    candidates: int | None = None


def draft(wanted: Wanted, *, verbose: bool = False, progress: Progress | None = None) -> Drafted:
    """A first schedule of a plain model, or that of one that uses streams by itself, which is traced without them.

    Nothing is raised: what keeps it from being written is in the diagnostics.
    """
    wanted = replace(wanted, target=wanted.target or _target_of(wanted))
    head = _head(wanted)
    options = _options(wanted)
    parsed = parse(head, typed.HEAD, options)
    words = _words(wanted)
    texts = typed.texts(words, {typed.HEAD: head, **options})
    if has_errors(parsed.diagnostics):
        return Drafted(None, None, typed.as_typed(parsed.diagnostics, words, _model(wanted)), texts)
    base = os.path.dirname(wanted.output)
    # A saved trace remembers its statements in the order of the schedule that it lies beside.
    written = trace_request(parse(_written(wanted, "draft"), typed.HEAD).schedule, base)
    request = replace(trace_request(parsed.schedule, base), determined_by=written.determined_by)
    drafted = _traced(wanted, request, texts, verbose, progress)
    return replace(drafted, diagnostics=typed.as_typed(drafted.diagnostics, words, _model(wanted)))


def is_name(text: str) -> bool:
    """Whether a schedule can be called so."""
    statements = parse(f"schedule {text}", "--name").schedule.statements
    return [s.name.text for s in statements if isinstance(s, ScheduleStatement)] == [text]


def _traced(
    wanted: Wanted,
    request: TraceRequest,
    texts: tuple[ScheduleFile, ...],
    verbose: bool,
    progress: Progress | None,
) -> Drafted:
    from streamsched.dsl.trace.export import trace_model

    traced = trace_model(request, verbose=verbose, progress=progress)
    if traced.trace is None:
        return Drafted(None, None, traced.diagnostics, texts)
    if not wanted.implemented:
        first = first_schedule(traced.trace)
        about = f"# A first schedule of {wanted.model}, to be edited: all runs on the caller's stream.\n"
        loaded = _loaded(wanted, about, first.text, traced.trace)
        return _drafted(loaded, traced, texts, first.groups, first.candidates)
    if traced.streamed is None:
        return Drafted(None, None, (*traced.diagnostics, _without_streams(_model(wanted))), texts)
    derived = derived_schedule(traced.trace, traced.streamed)
    return _drafted(_implemented(wanted, derived.text, traced.trace, traced.streamed), traced, texts, derived.groups)


def _drafted(
    loaded: Loaded, traced: Traced, texts: tuple[ScheduleFile, ...], groups: int, candidates: int | None = None
) -> Drafted:
    found = (*traced.diagnostics, *loaded.diagnostics)
    return Drafted(loaded.file.text, traced.trace, found, (*texts, loaded.file), groups, candidates)


def _without_streams(model: str) -> Diagnostic:
    return no_side_stream.diagnostic(
        Span(model, 1, 1, 1, 1),
        "the model used no stream while it was traced",
        help="give inputs and settings that take the branch with streams, or leave out --from for a first schedule",
    )


def _implemented(wanted: Wanted, body: str, trace: Trace, streamed: Streamed) -> Loaded:
    """The schedule that the code implements, with the `memory` mode that calls `record_stream` as the code does."""
    about = f"# What the forward() of {wanted.model} does by itself, as a schedule.\n"
    plain = _loaded(wanted, about, body, trace)
    recording = _loaded(wanted, about, f"memory record_stream\n\n{body}", trace)
    off = [abs(_record_streams(loaded) - streamed.record_streams) for loaded in (plain, recording)]
    return recording if off[1] < off[0] else plain


def _record_streams(loaded: Loaded) -> int:
    """How often the generated forward will call `record_stream`."""
    steps = loaded.program.steps if loaded.program is not None else ()
    return sum(step.kind is StepKind.RECORD_STREAM for step in steps)


def _loaded(wanted: Wanted, about: str, body: str, trace: Trace) -> Loaded:
    """The whole schedule in its canonical form, planned and checked."""
    text = f"{about}{_written(wanted, _name(wanted, trace))}\n\n{body}"
    path, base = wanted.output or _STANDARD_OUTPUT, os.path.dirname(wanted.output)
    formatted = format_schedule(parse(text, path).schedule)
    return load_drafted(ScheduleFile(path, formatted, base, ""), trace)


def _written(wanted: Wanted, name: str) -> str:
    """The statements that were asked for, as they begin the schedule."""
    return "\n".join((f"schedule {name}\n", *_options(wanted).values(), *_head(wanted).splitlines()[1:]))


def _target_of(wanted: Wanted) -> str:
    """`cuda` for code that uses streams of CUDA by itself, and of no NPU; else the language's own default."""
    file = wanted.model.rpartition(":")[0]
    if not wanted.implemented or not os.path.isfile(file):
        return ""
    try:
        text = read_text(file)
    except ReadError:
        return ""
    return "cuda" if "torch.cuda." in text and "torch.npu." not in text else ""


def _head(wanted: Wanted) -> str:
    """The statements that no option of their own stands for."""
    lines = ["schedule draft"]
    lines += [f'leaf "{glob}"' for glob in wanted.leaves]
    lines += [f"world {wanted.world}"] if wanted.world else []
    lines += [f'fakes "{_from(wanted, wanted.fakes)}"'] if wanted.fakes else []
    lines += [f"target {wanted.target}"] if wanted.target else []
    return "\n".join(lines) + "\n"


def _model(wanted: Wanted) -> str:
    """What names the word of the command that the model is."""
    return "--from" if wanted.implemented else typed.MODEL


def _words(wanted: Wanted) -> dict[str, str]:
    """What was typed, by the option that it was given to."""
    given = {_model(wanted): wanted.model, "--inputs-from": wanted.inputs_from}
    return {option: text for option, text in given.items() if text}


def _options(wanted: Wanted) -> dict[str, str]:
    """The statements that options stand for, by the name that spans give to their text."""
    found = {_model(wanted): f'model "{_reference(wanted, wanted.model)}"'}
    if wanted.scope:
        found["--scope"] = f'scope "{wanted.scope}"' + (f" class {wanted.scope_class}" if wanted.scope_class else "")
    if wanted.inputs:
        found["--input"] = "\n".join(f"input {each}" for each in wanted.inputs)
    if wanted.inputs_from:
        found["--inputs-from"] = f'inputs from "{_reference(wanted, wanted.inputs_from)}"'
    return found


def _reference(wanted: Wanted, text: str) -> str:
    """ "FILE-OR-PACKAGE:ATTR" with the file as it is named from the schedule's folder."""
    file, colon, attribute = text.rpartition(":")
    return f"{_from(wanted, file)}{colon}{attribute}"


def _from(wanted: Wanted, file: str) -> str:
    """A file as it is named from the schedule's folder; a package as it is."""
    folder = os.path.dirname(wanted.output)
    if not folder or os.path.isabs(file) or not (file.endswith(".py") or "/" in file):
        return file
    return os.path.relpath(file, folder).replace(os.sep, "/")


def _name(wanted: Wanted, trace: Trace) -> str:
    """The schedule's name: the one that was asked for, else the output's, else the model's."""
    stem = os.path.basename(wanted.output).removesuffix(SUFFIX)
    name = wanted.name or identifier(stem) or snake_case(trace.root.rpartition(":")[2])
    return name if is_name(name) else f"{name}_"
