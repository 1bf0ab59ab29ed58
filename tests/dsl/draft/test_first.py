"""A first schedule of a plain model: its groups, and candidates that hold what they promise."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("torch")

from drafts import wanted
from tiny import EXAMPLES, SCOPED, SIZES

from streamsched.dsl.diagnostic import Severity
from streamsched.dsl.files import ScheduleFile
from streamsched.dsl.init import Drafted, Wanted, draft
from streamsched.dsl.pipeline import Loaded, load_drafted
from streamsched.dsl.program.steps import StepKind
from streamsched.dsl.syntax.formatter import format_schedule
from streamsched.dsl.syntax.parser import parse
from streamsched.dsl.trace.model import NONE

NAMES = sorted(SIZES | SCOPED)


def first(name: str, monkeypatch: pytest.MonkeyPatch) -> Drafted:
    """The first schedule of an example's model in its tiny size, with the example's scope."""
    (path,) = EXAMPLES.glob(f"*/{name}.sched")
    monkeypatch.chdir(path.parent)
    return draft(wanted(name))


def checked(drafted: Drafted, text: str) -> Loaded:
    assert drafted.trace is not None
    return load_drafted(ScheduleFile("first.sched", text, "", ""), drafted.trace)


def tried(text: str) -> str:
    """The schedule with what its comments propose."""
    place = re.search(r"in place of `(.*)`:\n((?:#     .*\n)+)", text)
    assert place is not None, text
    assert text.count(f"\n{place[1]}\n") == 1
    return text.replace(f"\n{place[1]}\n", "\n" + place[2].replace("#     ", "") + "\n")


@pytest.mark.parametrize("name", NAMES)
def test_it_is_clean_and_formatted_and_moves_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drafted = first(name, monkeypatch)
    assert drafted.text is not None, drafted.diagnostics
    assert format_schedule(parse(drafted.text, "").schedule) == drafted.text
    loaded = checked(drafted, drafted.text)
    assert [each for each in loaded.diagnostics if each.severity is not Severity.INFO] == []
    assert loaded.program is not None
    assert {step.issuer for step in loaded.program.steps if step.op != NONE} == {0}


@pytest.mark.parametrize("name", sorted({*NAMES} - {"deepseek_v3_layer"}))  # a layer is a chain
def test_the_proposal_is_clean_and_overlaps(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drafted = first(name, monkeypatch)
    assert drafted.text is not None and drafted.candidates, drafted
    loaded = checked(drafted, tried(drafted.text))
    assert [each for each in loaded.diagnostics if each.severity is not Severity.INFO] == []
    assert loaded.program is not None
    moved = [step for step in loaded.program.steps if step.kind is StepKind.LAUNCH and step.issuer == 1]
    assert moved


def test_groups_are_named_after_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    drafted = first("inception", monkeypatch)
    assert drafted.text is not None
    groups = re.findall(r"^group (.*)$", drafted.text, re.MULTILINE)
    assert groups[:4] == [
        'branch1 = module "branch1"',
        'branch2 = module "branch2"',
        'branch3 = value "branch3"',
        'branch4 = module "branch4"',
    ]
    candidates = re.findall(r"^#     (\w+) \(\d+ kernels, .* of weights\) beside (.*)$", drafted.text, re.MULTILINE)
    assert ("branch2", "branch1, branch3, branch4") in candidates


def test_a_branch_of_several_modules_is_one_group(monkeypatch: pytest.MonkeyPatch) -> None:
    drafted = first("deepseek_moe", monkeypatch)
    assert drafted.text is not None
    assert 'group gate_to_experts = module "gate" | module "experts"\n' in drafted.text


CHAIN = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        return self.left(x) * self.right(x)

def build():
    return nn.Sequential(*[Block() for _ in range(3)])
"""


def test_where_nothing_overlaps_modules_to_look_into_are_proposed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.py").write_text(CHAIN)
    drafted = draft(Wanted("m.py:build", ("input: f32[4, 8]",)))
    assert drafted.text is not None, drafted.diagnostics
    assert drafted.candidates == 0
    assert "Nothing can overlap" in drafted.text and '#     --scope "*"\n' in drafted.text
    inside = draft(Wanted("m.py:build", ("input: f32[4, 8]",), scope="*", scope_class="Block"))
    assert inside.candidates == 2, inside


def test_paths_are_relative_to_the_schedule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.py").write_text(CHAIN)
    Path("schedules").mkdir()
    drafted = draft(Wanted("m.py:build", ("input: f32[4, 8]",), output="schedules/chain.sched"))
    assert drafted.text is not None, drafted.diagnostics
    assert 'schedule chain\n\nmodel "../m.py:build"\n' in drafted.text
