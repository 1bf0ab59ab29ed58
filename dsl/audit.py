"""Auditing hand-written code: from the words of a request to what is wrong with a recorded run."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from streamsched.dsl import typed
from streamsched.dsl.against import Declared
from streamsched.dsl.check.facts import Facts
from streamsched.dsl.check.mending import mended
from streamsched.dsl.check.registry import check
from streamsched.dsl.diagnostic import Diagnostic, Related, Severity, Span
from streamsched.dsl.files import ScheduleFile
from streamsched.dsl.pipeline import has_errors, trace_request
from streamsched.dsl.program import via
from streamsched.dsl.program.steps import Program
from streamsched.dsl.record.kernels import declare, kernel, missing_module
from streamsched.dsl.record.log import FIRST_TIME
from streamsched.dsl.syntax.parser import parse
from streamsched.dsl.trace.request import TraceRequest

if TYPE_CHECKING:
    from streamsched.dsl.record.session import Recording

__all__ = ["Audited", "audit", "audit_script", "declare", "kernel", "missing_module"]

TARGETS = ("cuda", "npu", "npugraph_ex")
"""What hand-written code may be audited for."""

_LIFETIMES = "MEM"
_UNUSED = "AUD101"


def check_choices(target: str, calls: int, world: int) -> None:
    """Raise `ValueError` for a target that is none, and for numbers of calls or ranks that cannot be."""
    if target not in TARGETS:
        raise ValueError(f"the targets are {', '.join(TARGETS)}, not {target!r}")
    numbers: tuple[tuple[str, object, int], ...] = (("calls", calls, 1), ("world", world, 0))
    for name, number, least in numbers:
        if not isinstance(number, int) or number < least:
            raise ValueError(f"{name} is a whole number, {least} or more, and not {number!r}")


@dataclass(frozen=True, slots=True)
class Audited:
    """What was found. `program` is None where the code could not be run; `texts` are what spans may speak of besides
    the user's files: the options that stand for statements."""

    program: Program | None
    diagnostics: tuple[Diagnostic, ...]
    texts: tuple[ScheduleFile, ...] = ()


def audit(
    model: str,
    inputs: str | Iterable[str] = (),
    inputs_from: str = "",
    *,
    target: str = "cuda",
    calls: int = 2,
    fakes: str = "",
    world: int = 0,
    fake: bool = False,
    against: str = "",
    verbose: bool = False,
    in_process: bool = False,
) -> Audited:
    """Run the forward() of `model` ("FILE-OR-PACKAGE:ATTR") `calls` times on the virtual device, and check the run.

    `inputs` are written as in `input` statements; `inputs_from` names a function that makes them. With `fake` tensors
    have no values, so that a model may be of any size. `against` names a schedule whose edges the code has to honour;
    `ReadError` is raised where it cannot be read, `ValueError` for wrong numbers and targets, and nothing else.
    For an NPU this happens in a process of its own, unless `in_process`: torch does not forget the name of a device.
    """
    check_choices(target, calls, world)
    inputs = (inputs,) if isinstance(inputs, str) else tuple(inputs)
    options = {typed.MODEL: f'model "{model}"'}
    words = {typed.MODEL: model}
    if inputs:
        options["--input"] = "\n".join(f"input {each}" for each in inputs)
    if inputs_from:
        options["--inputs-from"], words["--inputs-from"] = f'inputs from "{inputs_from}"', inputs_from
    if fakes:
        options["--fakes"], words["--fakes"] = f'fakes "{fakes}"', fakes
    head = f"schedule audit\ntarget {target}\n" + (f"world {world}\n" if world else "")
    parsed = parse(head, typed.HEAD, options)
    texts = typed.texts(words, {typed.HEAD: head, **options})
    if has_errors(parsed.diagnostics):
        return Audited(None, typed.as_typed(parsed.diagnostics, words, typed.MODEL), texts)
    declared = Declared.of(against, target) if against else None
    texts += (declared.file,) if declared else ()
    if declared and declared.plan is None:
        return Audited(None, declared.diagnostics, texts)
    scopes = declared.scopes if declared else ()
    job = Job(trace_request(parsed.schedule, ""), target, calls, verbose, fake, scopes=scopes)
    program, found = job.done() if target == "cuda" or in_process else _apart(job)
    found = typed.as_typed(found, words, typed.MODEL)
    if declared and program is not None:
        found = _once((*found, *declared.unhonoured(program)))
    return Audited(program, found, texts)


def audit_script(
    path: str,
    arguments: tuple[str, ...] = (),
    *,
    target: str = "cuda",
    fakes: str = "",
    world: int = 0,
    fake: bool = False,
    verbose: bool = False,
    in_process: bool = False,
) -> Audited:
    """Run the script at `path` with its `arguments` on the virtual device, and check what it issues.

    Where it ends with an exception or an exit code, that is told besides what was found until then, and `program` is
    None. The other arguments are those of `audit`.
    """
    assert target != "npugraph_ex", "a script has no forward() that is compiled"
    folder, name = os.path.split(path)
    span = Span(path, 1, 1, 1, 1)
    request = TraceRequest(
        base=folder,
        file=name,
        attribute="",
        inputs=(),
        inputs_from=None,
        determined_by=(),
        model_span=span,
        inputs_span=None,
        schedule_span=span,
        world=world,
        fakes=os.path.abspath(fakes) if fakes.endswith(".py") else fakes,
    )
    job = Job(request, target, 1, verbose, fake, arguments)
    program, found = job.done() if target == "cuda" or in_process else _apart(job)
    return Audited(program, found)


@dataclass(frozen=True, slots=True)
class Job:
    """One run on the virtual device: `calls` of a forward(), or a script with its `arguments`.

    What the modules at the paths `scopes` issue is marked.
    """

    request: TraceRequest
    target: str
    calls: int
    verbose: bool
    fake: bool
    arguments: tuple[str, ...] | None = None
    scopes: tuple[str, ...] = ()

    def done(self) -> tuple[Program | None, tuple[Diagnostic, ...]]:
        """What was recorded, None where it came to no good end, and what is wrong with it."""
        # An installed torch_npu would be loaded by `import torch`, and fails without the NPU's libraries.
        os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
        from streamsched.dsl.record.run import record
        from streamsched.dsl.record.script import record_script

        if self.arguments is None:
            recorded = record(self.request, self.target, self.calls, self.verbose, self.fake, self.scopes)
        else:
            recorded = record_script(self.request, self.arguments, self.target, self.verbose, self.fake)
        if recorded.recording is None:
            return None, recorded.diagnostics
        found = audited(recorded.recording)
        if recorded.diagnostics:
            return None, (*recorded.diagnostics, *(d for d in found if not _is_idle(d)))
        return recorded.recording.program(), found


def _is_idle(diagnostic: Diagnostic) -> bool:
    """Whether it says little of a run that came to an early end: remarks, and that no stream was used until then."""
    return diagnostic.severity is Severity.INFO or diagnostic.code == _UNUSED


def _apart(job: Job) -> tuple[Program | None, tuple[Diagnostic, ...]]:
    """What a job gives, from another process."""
    words = [sys.executable, "-c", "from streamsched.dsl.audit import answer; answer()"]
    paths = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(words, input=pickle.dumps(job), stdout=subprocess.PIPE, env=os.environ | paths, check=True)
    program, found = pickle.loads(done.stdout)  # what the child has written
    return program, found


def answer() -> None:
    """In a process of its own: do the job that is given on stdin, and write what came of it to stdout."""
    job: Job = pickle.load(sys.stdin.buffer)
    sys.stdout.buffer.write(pickle.dumps(job.done()))


def check_recorded(program: Program) -> tuple[Diagnostic, ...]:
    """What is wrong with a recorded program; each finding once, however many calls show it.

    A lifetime that only a missing wait leaves open is not told besides that wait.
    """
    facts = Facts(_settled(program))
    found = [diagnostic for diagnostic in check(facts.program) if not diagnostic.code.startswith(_LIFETIMES)]
    found += [d for d in check(mended(facts)) if d.code.startswith(_LIFETIMES)]
    return _once(found)


def _settled(program: Program) -> Program:
    """Without the waits that do nothing in the first call only, but for those on streams that do lack a wait."""
    lacking = {program.steps[races[0].after].stream for races in Facts(program).missing}
    steps = tuple(s for s in program.steps if FIRST_TIME not in via.words(s) or s.stream in lacking)
    return replace(program, steps=steps)


def audited(recording: Recording) -> tuple[Diagnostic, ...]:
    """What is wrong with all that was recorded."""
    from streamsched.dsl.record.rules import findings

    program = recording.program()
    return _once((*findings(recording.recorder, program), *check_recorded(program)))


def _once(found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The findings in the order of the text, each by what it says and where, as every call repeats them."""
    told = {(d.code, d.message, d.span): _brief(d) for d in reversed(list(found))}
    return tuple(sorted(told.values(), key=lambda diagnostic: (diagnostic.span, diagnostic.code)))


def _brief(diagnostic: Diagnostic) -> Diagnostic:
    """Without the second places that are the first, which the message tells about."""
    others: tuple[Related, ...] = tuple(each for each in diagnostic.related if each.span != diagnostic.span)
    return replace(diagnostic, related=others)
