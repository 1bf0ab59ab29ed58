"""Programs of real models, each traced from its source text."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Protocol

from streamsched.dsl.pipeline import load
from streamsched.dsl.program.steps import Program

HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"


class Planned(Protocol):
    """`planned(model, schedule)` plans for the target that the schedule names, or for `target`."""

    def __call__(self, model: str, schedule: str, target: str | None = None) -> Program: ...


def plan_model(folder: Path, model: str, schedule: str, target: str | None = None) -> Program:
    """The program of a schedule over the class `Model` in `model`, which needs no imports.

    `schedule` lacks its first two statements.
    """
    (folder / "model.py").write_text(HEAD + textwrap.dedent(model), encoding="utf-8")
    path = folder / "test.sched"
    path.write_text(f'schedule test\nmodel "model.py:Model"\n{textwrap.dedent(schedule)}', encoding="utf-8")
    loaded = load(str(path), target=target)
    assert not loaded.failed and loaded.program is not None, loaded.diagnostics
    return loaded.program
