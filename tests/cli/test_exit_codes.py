"""Exit codes with warnings alone: findings to `lint`, and to no verb that did its work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from streamsched.cli import entry

MODEL = """from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(4, 4)

    def forward(self, x):
        a = x + 1
        b = self.proj(x)
        return a, b
"""
SCHEDULE = 'schedule m\nmodel "mixed.py:Model"\ninput x: f16[4, 4]\nsync auto\nstream s\nvalue "b" on s\n'


def test_warnings(project: Path, run: Callable[..., Any]) -> None:
    (project / "mixed.py").write_text(MODEL)
    (project / "m.sched").write_text(SCHEDULE)
    linted = run("lint", "m.sched")  # traces anew: a saved trace is not warned about again
    assert linted.code == 1 and "warning[TRC206] mixed-dtypes" in linted.out
    for arguments in ("show m.sched", "gen m.sched", "trace m.sched"):
        result = run(*arguments.split())
        assert result.code == 0 and "TRC206" in result.err, arguments
    assert (project / "m.trace.json.gz").exists()


def test_an_interruption_while_the_command_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("streamsched.cli.main.main", interrupted)
    assert entry.main() == 130
