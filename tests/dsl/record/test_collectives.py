"""Collectives that hand-written code begins, and waits for, by `torch.distributed`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from streamsched.dsl.audit import Audited
from streamsched.dsl.program.steps import StepKind

pytest.importorskip("torch")

from audits import Auditor

X = "x: f32[8, 8]"

HEAD = """
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
from torch.distributed.device_mesh import init_device_mesh

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()
        self.tp, self.ep = dist.new_group([0, 1], backend="nccl"), dist.new_group([0, 2])

    def forward(self, x):
        main = torch.cuda.current_stream()
        y = x * 2
        out = torch.empty(32, 8, device="cuda")
"""


def forward(*lines: str) -> str:
    return HEAD + "".join(f"        {line}\n" for line in lines)


BEGINS = [
    ("work = dist.all_reduce(y, async_op=True)", "y", "allreduce_"),
    ("work = dist.all_gather_into_tensor(out, y, async_op=True)", "out", "_allgather_base_"),
    ("work = dist.all_gather(list(out.chunk(4)), y, async_op=True)", "out", "allgather_"),
    ("work = dist.reduce_scatter_tensor(y, out, async_op=True)", "y", "_reduce_scatter_base_"),
    ("work = dist.all_to_all_single(out[:8], y, async_op=True)", "out", "alltoall_base_"),
    ("work = dist.broadcast(y, 0, async_op=True)", "y", "broadcast_"),
    ("work = dist.irecv(y, 1)", "y", "recv_"),
    ("work = dist.batch_isend_irecv([dist.P2POp(dist.irecv, y, 1)])[-1]", "y", "recv_"),
]


@pytest.mark.parametrize("fake", [False, True])
@pytest.mark.parametrize(("begin", "filled", "operator"), BEGINS)
def test_a_handle_that_nobody_waits_for(found: Auditor, begin: str, filled: str, operator: str, fake: bool) -> None:
    findings = found(forward(begin, f"return {filled} + 1"), X, world=4, fake=fake)
    (race,) = [each for each in findings if each.code != "AUD101"]
    assert race.code == "ORD101"
    assert race.message == (
        f"`add` on `default` reads `{filled}` that `{operator}` on `group 0` writes, and nothing orders them (RAW)"
    )
    assert race.related == (begin,)
    assert race.help.startswith(f"wait for `{operator}` where `default` is current, before `add`: `work.wait()`")


@pytest.mark.parametrize("wait", ["work.wait()", "work.get_future().wait()", "work.synchronize()"])
@pytest.mark.parametrize(("begin", "filled", "operator"), BEGINS)
def test_a_handle_that_is_waited_for(found: Auditor, begin: str, filled: str, operator: str, wait: str) -> None:
    assert found(forward(begin, "z = x + 3", wait, f"return z, {filled} + 1"), X, world=4) == []


def test_nothing_is_checked_where_a_collective_runs_alone(found: Auditor) -> None:
    lines = ["work = dist.all_reduce(y, async_op=True)", "work.wait()", "y = funcol.all_reduce(y, 'sum', self.tp)"]
    assert [each.code for each in found(forward(*lines, "return y + 1"), X, world=4)] == ["AUD101"]


@pytest.mark.parametrize("target", ["cuda", "npu"])
def test_a_collective_from_a_side_stream_uses_it(found: Auditor, target: str) -> None:
    lines = (
        "self.side.wait_stream(main)",
        "with torch.cuda.stream(self.side):",
        "    dist.all_reduce(y)",
        "z = x + 3",
        "main.wait_stream(self.side)",
        "return y + z",
    )
    assert found(forward(*lines).replace("cuda", target), X, world=4, target=target) == []


TWICE = (
    "first = {}",
    "self.side.wait_stream(main)",
    "with torch.cuda.stream(self.side):",
    "    z = x + 3",
    "    second = {}",
    "    {}",
    "{}",
    "main.wait_stream(self.side)",
    "z.record_stream(main)",
    "return {}",
)


def twice(first: str, second: str, waits: tuple[str, str], result: str) -> str:
    return forward(*TWICE).format(first, second, waits[1], waits[0], result)


BEGIN = "dist.all_reduce({}, async_op=True)"
WAITS = ("first.wait()", "second.wait()")


def test_collectives_of_one_group_are_in_its_queue(found: Auditor) -> None:
    assert found(twice(BEGIN.format("y"), BEGIN.format("z"), WAITS, "y + z"), X, world=4) == []
    functional = "funcol.all_reduce({}, 'sum', self.tp)"
    waits = ("first = first + 1", "second = second + 1")
    functionals = twice(functional.format("y"), functional.format("z"), waits, "first + second")
    assert found(functionals, X, world=4) == []


def test_blocking_collectives_of_one_group_are_in_no_queue(found: Auditor) -> None:
    blocking = [
        "self.side.wait_stream(main)",
        "with torch.cuda.stream(self.side):",
        "    z = x + 3",
        "    dist.all_reduce(z)",
        "dist.all_reduce(y)",
        "main.wait_stream(self.side)",
        "z.record_stream(main)",
        "return y + z",
    ]
    assert "ORD107" in [each.code for each in found(forward(*blocking), X, world=4)]


def test_a_compiler_may_issue_collectives_in_another_order(found: Auditor) -> None:
    functional = "funcol.all_reduce({}, 'sum', self.tp)"
    waits = ("first = first + 1", "second = second + 1")
    text = twice(functional.format("y"), functional.format("z"), waits, "first + second").replace("cuda", "npu")
    findings = found(text, X, world=4, target="npugraph_ex")
    assert "ORD107" in [each.code for each in findings]


def test_a_handle_that_another_stream_waits_for(found: Auditor) -> None:
    lines = (
        "self.side.wait_stream(main)",
        "work = dist.all_reduce(y, async_op=True)",
        "with torch.cuda.stream(self.side):",
        "    work.wait()",
        "    z = y + 1",
        "{}",
        "return y * 3",
    )
    text = forward(*lines)
    (race,) = [each for each in found(text.format("pass"), X, world=4) if each.code == "ORD101"]
    assert "`mul` on `default` reads `y` that `allreduce_` on `group 0` writes" in race.message
    assert found(text.format("main.wait_stream(self.side)"), X, world=4) == []


@pytest.mark.parametrize(
    "line", ["dist.all_reduce(y)", "dist.all_gather_into_tensor(out, y)", "dist.recv(y, 1)", "dist.barrier()"]
)
def test_a_collective_without_a_handle_is_waited_for_at_once(found: Auditor, line: str) -> None:
    assert [each.code for each in found(forward(line, "return y + out[:8]"), X, world=4)] == ["AUD101"]


def test_what_a_collective_still_reads_is_not_written(found: Auditor) -> None:
    lines = ("work = dist.all_gather_into_tensor(out, y, async_op=True)", "y.add_(1)", "work.wait()", "return out, y")
    (race,) = [each for each in found(forward(*lines), X, world=4) if each.code != "AUD101"]
    assert (race.code, race.at) == ("ORD101", "y.add_(1)")
    assert "(WAR)" in race.message


def test_each_group_has_a_stream_of_its_own(run: Callable[..., Audited]) -> None:
    lines = (
        "dist.all_reduce(y)",
        "dist.all_reduce(y, group=self.tp)",
        "y = funcol.all_reduce(y, 'sum', self.tp)",
        "y = y + 1",
        "mesh = init_device_mesh('cuda', (2, 2), mesh_dim_names=('dp', 'tp'))",
        "dist.all_reduce(y, group=mesh.get_group('tp'))",
        "assert dist.get_backend() == 'nccl' and dist.get_world_size() == 4",
        "return y",
    )
    program = run(forward(*lines), X, world=4, calls=1).program
    assert program is not None
    collectives = [s for s in program.steps if s.kind is StepKind.LAUNCH and s.issued_on >= 0]
    names = [program.streams[step.stream].name for step in collectives]
    assert len(names) == 4 and names[0] != names[1] == names[2]
    assert names[3] not in names[:3]


def test_collectives_of_two_groups_in_flight(found: Auditor) -> None:
    lines = (
        "first = dist.all_reduce(y, group=self.tp, async_op=True)",
        "second = dist.all_gather_into_tensor(out[:16], x, group=self.ep, async_op=True)",
        "first.wait(); second.wait()",
        "return y, out",
    )
    (finding,) = [each for each in found(forward(*lines), X, world=4) if each.code != "AUD101"]
    assert finding.code == "ORD107"
    assert finding.help.startswith("wait for `allreduce_` where `default` is current, before `_allgather_base_`")


def test_code_that_makes_the_default_group_itself(run: Callable[..., Audited]) -> None:
    text = forward("dist.all_reduce(y)", "return y").replace(
        "class M", 'dist.init_process_group("nccl", world_size=4, rank=1, device_id=torch.device("cuda", 0))\n\nclass M'
    )
    audited = run(text, X)
    assert audited.program is not None, audited.diagnostics
    import torch.distributed as dist

    assert not dist.is_initialized()
