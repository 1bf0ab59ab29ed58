"""What a model makes of its rank is that of rank 0 in the trace, and is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh

from streamsched.dsl.diagnostic import Diagnostic, Span
from streamsched.dsl.trace.export import Traced
from streamsched.dsl.trace.request import LeafRequest, ScopeRequest

Attempt = Callable[..., Traced]
MODEL = """
import torch.distributed as dist
from torch.distributed import get_rank
from torch.distributed.device_mesh import init_device_mesh

class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.group, self.unused = dist.new_group([0, 1]), 0
        INIT

    def forward(self, x):
        return FORWARD

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.part, self.other = Part(), nn.Linear(8, 8)

    def forward(self, x):
        return self.other(self.part(x))
"""


def warned(attempt: Attempt, forward: str, init: str = "pass", **request: Any) -> tuple[Diagnostic, ...]:
    source = MODEL.replace("FORWARD", forward).replace("INIT", init)
    made = attempt(source, {"world": 4} | request, x=(8, 8))
    assert made.trace is not None, made.diagnostics
    assert made.trace.warnings == tuple(found.message for found in made.diagnostics)
    return made.diagnostics


@pytest.mark.parametrize(
    "question", ["dist.get_rank()", "get_rank()", "self.group.rank()", "self.mesh.get_local_rank()"]
)
def test_asking_in_forward(attempt: Attempt, tmp_path: Path, question: str) -> None:
    before = dist.get_rank, dist.ProcessGroup.rank, DeviceMesh.get_local_rank
    init = "self.mesh = init_device_mesh('cpu', (4,))"
    (found,) = warned(attempt, f"x * (1 + {question})", init)
    assert found.code == "TRC207"
    assert found.message == "Part.forward() asks for its rank, and is traced as rank 0 of 4"
    span = found.related[0].span
    line = (tmp_path / "model.py").read_text().splitlines()[span.line - 1]
    assert line[span.column - 1 : span.end_column - 1] == question
    assert (dist.get_rank, dist.ProcessGroup.rank, DeviceMesh.get_local_rank) == before


def test_a_constant_that_was_made_of_the_rank(attempt: Attempt) -> None:
    (found,) = warned(
        attempt, "x[:, self.start :] * 2 + self.unused2", "self.start = dist.get_rank() * 2; self.unused2 = 1"
    )
    assert found.code == "TRC207"
    assert "rank 3: `self.part.start` (0 and 6)" in found.message
    assert "unused" not in found.message and "same" not in found.message


@pytest.mark.parametrize(
    ("forward", "init"),
    [
        ("x * dist.get_world_size()", "pass"),
        ("x * self.factor", "self.factor = 2 if dist.get_rank() >= 0 else 3"),
        ("x * self.factor", "self.factor, self.start = 2, dist.get_rank()"),
        ("x * self.mask", "self.register_buffer('mask', torch.full((8,), dist.get_rank() + 1.0))"),
    ],
)
def test_what_is_the_same_for_all_ranks(attempt: Attempt, forward: str, init: str) -> None:
    assert warned(attempt, forward, init) == ()


def test_only_modules_in_scope_count(attempt: Attempt) -> None:
    span = Span("test.sched", 3, 1, 3, 12)
    scoped: dict[str, Any] = {"scope": ScopeRequest("other", "", span)}
    assert warned(attempt, "x * (self.start + get_rank())", "self.start = get_rank() + 1", **scoped) == ()
    scoped = {"scope": ScopeRequest("part", "", span)}
    asked, held = warned(attempt, "x * (self.start + get_rank())", "self.start = get_rank() + 1", **scoped)
    assert "asks for its rank" in asked.message
    assert "`self.start` (1 and 4)" in held.message


def test_a_leaf_runs_its_own_python(attempt: Attempt) -> None:
    leaf = LeafRequest("part", Span("test.sched", 3, 1, 3, 12))
    assert warned(attempt, "x * (self.start + get_rank())", "self.start = get_rank() + 1", leaves=(leaf,)) == ()
