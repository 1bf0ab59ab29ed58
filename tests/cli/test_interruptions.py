"""What is said where a run is interrupted: nothing after Ctrl-C, and where it was for code that does it itself."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

RAISES = """
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        BODY
"""


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise KeyboardInterrupt", "Model.forward() raises KeyboardInterrupt at"),
        (f"import os; os.kill(os.getpid(), {int(signal.SIGINT)})", ""),
    ],
)
def test_an_interruption(project: Path, run: Callable[..., Any], body: str, words: str) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job has it ignored
    (project / "stops.py").write_text(RAISES.replace("BODY", body))
    (project / "stops.sched").write_text('schedule s\nmodel "stops.py:Model"\ninput x: f32[4]\n')
    result = run("lint", "stops.sched")
    assert (result.code, result.out) == (130, "")
    assert words in result.err
    assert bool(words) == (f"{os.sep}stops.py:7" in result.err)
