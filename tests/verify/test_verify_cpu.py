"""verify on the CPU: it sees every sync that is taken out of the plan. test_examples has it agree on every example."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from tiny import loaded, schedule

from streamsched.cli.main import cli
from streamsched.dsl.program.edit import without
from streamsched.dsl.program.steps import Hazard, Program, StepKind
from streamsched.verify.compare import differences
from streamsched.verify.live import State
from streamsched.verify.request import Request
from streamsched.verify.run import verify


def carries_data(program: Program, wait: int) -> bool:
    """Whether the plan needs this wait for numbers: for data, or for the inputs or outputs of side streams."""
    return any(
        reason.hazard in (Hazard.RAW, Hazard.WAR, Hazard.WAW)
        or (reason.order >= 0 and set(program.steps[reason.before].writes) & set(program.steps[reason.after].reads))
        for reason in program.steps[wait].reasons
    )


@pytest.mark.parametrize("name", ["side_branch", "two_tower", "inception"])
def test_every_wait_that_carries_data_is_missed(name: str) -> None:
    found = loaded(name, "npu")
    assert found.program is not None
    waits = [i for i, s in enumerate(found.program.steps) if s.kind is StepKind.WAIT and carries_data(found.program, i)]
    assert waits
    for wait in waits:
        thinned = replace(found, program=without(found.program, wait))
        verdict = verify(thinned, Request("", orders=2, calls=2))
        assert not isinstance(verdict, tuple)
        assert not verdict.agrees, found.program.steps[wait].name


def test_a_record_stream_taken_out_is_missed() -> None:
    found = loaded("multi_stream", "npugraph_ex")
    assert found.program is not None
    (record,) = [i for i, s in enumerate(found.program.steps) if s.kind is StepKind.RECORD_STREAM]
    verdict = verify(replace(found, program=without(found.program, record)), Request("", orders=2, calls=2))
    assert not isinstance(verdict, tuple)
    assert {difference.where for difference in verdict.differences} == {"output[2]"}
    assert "side streams last" in {difference.order for difference in verdict.differences}


def test_the_command_says_what_agreed() -> None:
    result = CliRunner().invoke(cli, ["verify", schedule("side_branch"), "--orders", "1", "--input", "x: f16[4, 4]"])
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] == "cpu: all outputs agree"


def test_nan_equals_nan_and_every_kind_of_difference_is_named() -> None:
    nan = torch.tensor([float("nan"), 1.0])
    assert list(differences({"a": [nan, 3]}, {"a": [nan.clone(), 3]}, "o", 0)) == []
    found = list(differences((nan, nan + 1, 4), (nan, nan, 5), "o", 1))
    assert [(d.where, d.differing, d.total) for d in found] == [("output[1]", 1, 2), ("output[2]", 1, 1)]
    assert found[0].largest == 1.0
    assert [d.where for d in differences(nan, nan.double(), "o", 0)] == ["output"]
    assert [d.where for d in differences([nan], [nan, nan], "o", 0)] == ["output"]


def schedule_of(folder: Path, forward: str) -> str:
    """A schedule of one model whose forward() has the given body."""
    (folder / "model.py").write_text(
        "import torch\nfrom torch import nn\n\n\nclass Model(nn.Module):\n    def forward(self, x):\n"
        + "".join(f"        {line}\n" for line in forward.splitlines())
    )
    path = folder / "m.sched"
    path.write_text('schedule m\nmodel "model.py:Model"\ninput x: f32[4, 4]\nsync auto\nstream s\nvalue "b" on s\n')
    return str(path)


def test_random_ops_draw_the_same_under_every_order(tmp_path: Path) -> None:
    schedule = schedule_of(tmp_path, "a = x + torch.rand_like(x)\nb = torch.rand_like(x) * x\nreturn a, b")
    result = CliRunner().invoke(cli, ["verify", schedule, "--orders", "3"])
    assert result.output.endswith("cpu: all outputs agree\n")


def test_a_buffer_outside_the_state_dict_starts_anew_under_every_order() -> None:
    module = torch.nn.Module()
    module.register_buffer("cache", torch.ones(2), persistent=False)
    state = State.of(module)
    module.cache.fill_(7)
    state.restore()
    assert torch.equal(module.cache, torch.ones(2))


def test_a_block_with_two_users_is_safe_by_a_record_stream_and_a_wait(tmp_path: Path) -> None:
    path = schedule_of(tmp_path, "n = x * 2\nb = n.tanh()\nc = n.exp()\nd = c.sin()\nreturn b + d.cos()")
    with open(path, "a") as file:
        file.write('stream r\nvalue "c" on r\n')
    result = CliRunner().invoke(cli, ["verify", path, "--orders", "2", "--calls", "1"])
    assert result.output.endswith("cpu: all outputs agree\n")
