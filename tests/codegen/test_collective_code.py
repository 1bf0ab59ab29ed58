"""Collectives in generated code: printed as what torch.compile keeps apart, the call and the wait."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from forwards import forward_lines
from modelled import Planned, plan_model

from streamsched.codegen.emitter import generate
from streamsched.codegen.pictures.show import show
from streamsched.dsl.program.steps import Program
from streamsched.dsl.trace.tracing.collectives import copy_model

MODEL = """
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol

class Row(nn.Module):
    def __init__(self):
        super().__init__()
        self.tp_group = dist.new_group([0])
        self.linear = nn.Linear(8, 8, bias=False)

    def forward(self, x):
        return funcol.all_reduce(self.linear(x), "sum", self.tp_group)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.routed = Row()
        self.shared = nn.Linear(8, 8)

    def forward(self, x):
        routed = self.routed(x)
        shared = self.shared(x)
        return routed + shared
"""
SCHEDULE = """\
input x: f32[4, 8]
world 1
target npu
stream side
module "shared" on side
module "shared" -> value "return"
"""


def forward(program: Program, target: str) -> list[str]:
    """The lines of the forward behind its guard."""
    return forward_lines(generate(program, target))


def test_the_forward(planned: Planned) -> None:
    program = planned(MODEL, SCHEDULE)
    assert forward(program, "npu") == [
        'side = self.scheduled_streams["side"]',
        'inputs_ready, shared_done = self.scheduled_events["test"]',
        "inputs_ready.record()",
        "linear = self.routed.linear(x)",
        "all_reduce = torch.ops._c10d_functional.all_reduce(",
        'linear, "sum", self.routed.tp_group.group_name',
        ")",
        "with torch.npu.stream(side):",
        "# shared = self.shared(x)",
        "inputs_ready.wait()",
        "shared = self.shared(x)",
        "shared_done.record()",
        "routed = torch.ops._c10d_functional.wait_tensor(all_reduce)",
        "del linear",
        "shared_done.wait()",
        "add = routed + shared",
        "return add",
    ]


def test_a_collective_placed_on_a_stream_is_issued_and_awaited_there(planned: Planned) -> None:
    program = planned(MODEL, SCHEDULE.replace('module "shared"', 'module "routed"'))
    lines = forward(program, "npu")
    inside = lines[lines.index("with torch.npu.stream(side):") : lines.index("routed_done.record()")]
    assert [line for line in inside if line.startswith(("all_reduce", "routed"))] == [
        "all_reduce = torch.ops._c10d_functional.all_reduce(",
        "routed = torch.ops._c10d_functional.wait_tensor(all_reduce)",
    ]
    assert "group" not in generate(program, "npu").split("def apply")[1]


def test_a_module_that_returns_a_pending_result_is_unfolded(planned: Planned) -> None:
    assert not any("self.routed(" in line for line in forward(planned(MODEL, SCHEDULE), "cpu"))


def test_show_has_the_stream_of_the_group(planned: Planned) -> None:
    text = show(planned(MODEL, SCHEDULE))
    assert "group tp" in text.splitlines()[2]
    assert "all_reduce: on group tp, issued on default, awaited on default" in text
    assert "2 events, 2 waits" in text


@pytest.fixture
def gloo() -> Iterator[None]:
    dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    yield
    dist.destroy_process_group()


@pytest.mark.parametrize("compiled", [False, True])
def test_it_computes_what_the_original_does(tmp_path: Path, compiled: bool, request: pytest.FixtureRequest) -> None:
    program = plan_model(tmp_path, MODEL, SCHEDULE)
    request.getfixturevalue("gloo")
    names: dict[str, object] = {}
    exec((tmp_path / "model.py").read_text(), names)
    original = names["Model"]()  # type: ignore[operator]
    scheduled: dict[str, object] = {}
    exec(generate(program, "cpu"), scheduled)
    made = scheduled["apply"](copy_model(original))  # type: ignore[operator]
    x = torch.randn(4, 8)
    with torch.no_grad():
        run = torch.compile(made, backend="eager", fullgraph=True) if compiled else made
        assert torch.equal(run(x), original(x))
