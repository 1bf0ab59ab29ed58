"""What the README shows is what the product gives."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def shown(text: str) -> str:
    return textwrap.indent(text.strip(), "    ", lambda line: bool(line.strip()))


@pytest.mark.parametrize("example", ["deepseek_moe/deepseek_moe", "deepseek_v3/deepseek_v3_layer"])
def test_readme_shows_the_schedule_and_the_forward_of_an_example(example: str) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    schedule = (EXAMPLES / f"{example}.sched").read_text(encoding="utf-8")
    without_comments = "\n".join(line for line in schedule.splitlines() if not line.startswith("#"))
    assert shown(without_comments) in readme
    generated = (EXAMPLES / f"{example}_scheduled.py").read_text(encoding="utf-8")
    forward = generated[generated.index("def forward") : generated.index("def apply")]
    assert shown(forward) in readme
