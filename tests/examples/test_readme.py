"""What the README shows is what the product gives."""

from __future__ import annotations

import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "deepseek_moe"


def shown(text: str) -> str:
    return textwrap.indent(text.strip(), "    ", lambda line: bool(line.strip()))


def test_readme_shows_the_schedule_and_the_forward_of_an_example() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    schedule = (EXAMPLE / "deepseek_moe.sched").read_text(encoding="utf-8")
    without_comments = "\n".join(line for line in schedule.splitlines() if not line.startswith("#"))
    assert shown(without_comments) in readme
    generated = (EXAMPLE / "deepseek_moe_scheduled.py").read_text(encoding="utf-8")
    forward = generated[generated.index("def forward") : generated.index("def apply")]
    assert shown(forward) in readme
