"""The cases of the rules: files `tests/rules/CODE.fail.*`, `CODE.pass.*` and, where a fix mends it, `CODE.fix.*`.

A case is a schedule, the settings of a project (`.toml`), or hand-written code (`.py`), which is audited for
npugraph_ex if it imports torch_npu, else for CUDA. Schedules share models, and their saved traces, in
`tests/rules/models`; the rules on tracing trace theirs anew. All paths are relative to `tests/rules`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from audit_batch import audit_all

from streamsched.dsl.audit import Audited
from streamsched.dsl.config.config import Config
from streamsched.dsl.config.read import read_config
from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.files import ScheduleFile, read_text
from streamsched.dsl.linting import fixed, lint, tell_of_code
from streamsched.dsl.rules import ALL

FOLDER = Path(__file__).parents[1] / "rules"
TRACED_ANEW = re.compile(r"TRC|PRF103|SEL108|SEL109|SEL11[0-3]")
_MODEL = re.compile(r'^model "(.*)\.py:(\w+)"', re.MULTILINE)


@dataclass(frozen=True)
class Case:
    """One file. `kind` is `fail`, `pass` or `fix`."""

    code: str
    kind: str
    path: Path

    @property
    def text(self) -> str:
        """The file's text."""
        return self.path.read_text(encoding="utf-8")

    @property
    def shown(self) -> str:
        """What the findings call the file."""
        return {".toml": "pyproject.toml", ".py": "m.py"}.get(self.path.suffix, "example.sched")


def cases() -> list[Case]:
    """All cases, by code and kind."""
    paths = sorted(path for path in FOLDER.iterdir() if path.suffix in (".sched", ".toml", ".py"))
    split = [(path, path.name.split(".")) for path in paths]
    return [Case(parts[0], parts[1], path) for path, parts in split if len(parts) == 3]


def findings(case: Case) -> tuple[Diagnostic, ...]:
    """What is told of a case, in the order of the text. The current folder must be `FOLDER`."""
    check: Callable[[Case], tuple[Diagnostic, ...]] = {
        ".sched": lambda case: lint(_schedule(case)).told.left,
        ".toml": _of_settings,
        ".py": _of_code,
    }[case.path.suffix]
    return tuple(sorted(check(case), key=lambda diagnostic: (diagnostic.span, diagnostic.code)))


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
    return ScheduleFile(case.shown, case.text, "", "" if TRACED_ANEW.match(case.code) else saved_trace(case.text))


def saved_trace(text: str) -> str:
    """Where the trace of a schedule's model lies; empty without a model."""
    model = _MODEL.search(text)
    return f"{model[1]}.{model[2]}.trace.json.gz" if model else ""


def _of_settings(case: Case) -> tuple[Diagnostic, ...]:
    read = read_config(case.text, case.shown, ALL.keys)
    assert read is not None
    return read[1]


def _of_code(case: Case) -> tuple[Diagnostic, ...]:
    audited = _audited(_target(case))[case.path.name]
    told = tell_of_code(audited.diagnostics, Config(), [case.shown], reader(case), audited.program is not None)
    return told.left


def _target(case: Case) -> str:
    return "npugraph_ex" if "torch_npu" in case.text else "cuda"


@cache
def _audited(target: str) -> dict[str, Audited]:
    """What is found in all hand-written cases for a target, in one process of its own."""
    return audit_all(
        {case.path.name: case.text for case in cases() if case.path.suffix == ".py" and _target(case) == target},
        target=target,
    )
