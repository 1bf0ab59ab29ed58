"""The cases of the rules: files `tests/rules/CODE.fail.*`, `CODE.pass.*` and, where a fix mends it, `CODE.fix.*`.

A case is a schedule, the settings of a project (`.toml`), or hand-written code (`.py`), which is audited for
npugraph_ex if it imports torch_npu, else for CUDA; a first line `# $ streamsched audit ...` says how else. What no
command of a user leads to is a program in the notation of `program_text` (`.program`), with lines `edge a -> b`.

Schedules share models, and their saved traces, in `tests/rules/models`, which hand-written code may name too; the rules
on tracing trace theirs anew. `CODE.KIND.trace.json.gz` is a saved trace of a case's own. All paths are relative to
`tests/rules`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from audit_batch import Wanted, audit_each
from bare_machine import other_packages, without_torch
from program_text import build_program

from streamsched.cli.audit import command as audit_command
from streamsched.dsl.audit import Audited
from streamsched.dsl.check.registry import check as check_program
from streamsched.dsl.config.config import Config
from streamsched.dsl.config.read import read_config
from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.files import ScheduleFile, read_text
from streamsched.dsl.lint.fixing import fixed
from streamsched.dsl.lint.linting import lint, tell_of_code
from streamsched.dsl.rules import ALL

FOLDER = Path(__file__).parents[1] / "rules"
TRACED_ANEW = re.compile(r"TRC(?!11[0-2])|ORD108|PRF103|SEL108|SEL109|SEL11[0-3]")
_MODEL = re.compile(r'^model "(.*)\.py:(\w+)"', re.MULTILINE)
_GIVEN = re.compile(r"# \$ (.*)\n")
_AUDIT = 'streamsched audit m.py:M --input "x: f32[8, 8]" --target {target}'
_MACHINES = {"TRC110": without_torch, "SEL106": lambda: other_packages(FOLDER / "installed")}
"""Rules that tell of the machine, with what makes this one such."""


@dataclass(frozen=True)
class Case:
    """One file. `kind` is `fail`, `pass` or `fix`."""

    code: str
    kind: str
    path: Path

    @property
    def text(self) -> str:
        """The file's text, without the line that gives the command."""
        return _GIVEN.sub("", self.path.read_text(encoding="utf-8"), count=1)

    @property
    def command(self) -> str:
        """What a user types to be told of the case; empty where there is no such command."""
        given = _GIVEN.match(self.path.read_text(encoding="utf-8"))
        if given:
            return given[1]
        audit = _AUDIT.format(target="npugraph_ex" if "torch_npu" in self.text else "cuda")
        commands = {".sched": "streamsched lint example.sched", ".toml": "streamsched lint", ".py": audit}
        return commands.get(self.path.suffix, "")

    @property
    def shown(self) -> str:
        """What the findings call the file."""
        if self.path.suffix == ".py":
            return _wanted(self).file
        return "pyproject.toml" if self.path.suffix == ".toml" else "example.sched"

    @property
    def own_trace(self) -> Path:
        """Where its saved trace lies, if it has one of its own."""
        return self.path.with_name(f"{self.code}.{self.kind}.trace.json.gz")


def cases() -> list[Case]:
    """All cases, by code and kind."""
    paths = sorted(path for path in FOLDER.iterdir() if path.suffix in (".sched", ".toml", ".py", ".program"))
    split = [(path, path.name.split(".")) for path in paths]
    return [Case(parts[0], parts[1], path) for path, parts in split if len(parts) == 3]


@cache
def findings(case: Case) -> tuple[Diagnostic, ...]:
    """What is told of a case, in the order of the text. The current folder must be `FOLDER`."""
    check: Callable[[Case], tuple[Diagnostic, ...]] = {
        ".sched": _of_schedule,
        ".toml": _of_settings,
        ".py": _of_code,
        ".program": _of_program,
    }[case.path.suffix]
    with _MACHINES.get(case.code, nullcontext)():
        found = check(case)
    return tuple(sorted(found, key=lambda diagnostic: (diagnostic.span, diagnostic.code)))


def mended(case: Case) -> str:
    """The text of a failing case after the fixes of its rule, safe or not."""

    def check(file: ScheduleFile):
        return lint(file, adjust=lambda config: Config(select=(case.code,)))

    return fixed(_schedule(case), check, unsafe=True).file.text


def reader(case: Case) -> Callable[[str], str | None]:
    """What reports of a case read excerpts with."""

    def read(file: str) -> str | None:
        return case.text if file == case.shown else read_text(file) if Path(file).is_file() else None

    return read


def _schedule(case: Case) -> ScheduleFile:
    saved = "" if TRACED_ANEW.match(case.code) else saved_trace(case.text)
    return ScheduleFile(case.shown, case.text, "", case.own_trace.name if case.own_trace.exists() else saved)


def saved_trace(text: str) -> str:
    """Where the trace of a schedule's model lies; empty without a model."""
    model = _MODEL.search(text)
    return f"{model[1]}.{model[2]}.trace.json.gz" if model else ""


def _of_schedule(case: Case) -> tuple[Diagnostic, ...]:
    found = lint(_schedule(case)).told.left
    return tuple(replace(d, message=d.message.replace(case.own_trace.name, "example.trace.json.gz")) for d in found)


def _of_settings(case: Case) -> tuple[Diagnostic, ...]:
    read = read_config(case.text, case.shown, ALL.keys)
    assert read is not None
    return read[1]


def _of_code(case: Case) -> tuple[Diagnostic, ...]:
    audited = _audited(_wanted(case).options["target"])[case.path.name]
    told = tell_of_code(audited.diagnostics, Config(), [case.shown], reader(case), audited.program, well=True)
    return told.left


def _of_program(case: Case) -> tuple[Diagnostic, ...]:
    lines = [line.strip() for line in case.text.splitlines()]
    edges = [line.removeprefix("edge ") for line in lines if line.startswith("edge ")]
    (target,) = [line.removeprefix("target ") for line in lines if line.startswith("target ")] or ["npu"]
    steps = [line for line in lines if line and not line.startswith(("edge ", "target ", "#"))]
    return check_program(build_program("\n".join(steps), target=target, edges=edges))


def _wanted(case: Case) -> Wanted:
    """What the command of hand-written code asks for, as the command line reads it."""
    words = shlex.split(case.command)
    assert words[:2] == ["streamsched", "audit"], case.command
    given = audit_command.make_context("audit", words[2:]).params
    names = ["target", "fakes", "fake"]
    names += ["inputs", "inputs_from", "calls", "against"] if ":" in given["model"] else ["arguments"]
    return Wanted(case.text, given["model"], {name: given[name] for name in names} | {"world": given["world"] or 0})


@cache
def _audited(target: str) -> dict[str, Audited]:
    """What is found in all hand-written cases for a target, in one process of its own."""
    wanted = {case.path.name: _wanted(case) for case in cases() if case.path.suffix == ".py"}
    return audit_each(
        {name: each for name, each in wanted.items() if each.options["target"] == target}, [FOLDER / "models"]
    )
