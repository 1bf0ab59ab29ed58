"""Models that communicate, traced as rank 0 of a fake process group."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch.distributed as dist

from streamsched.dsl.diagnostic import Span
from streamsched.dsl.trace.collectives import group_of, waits_of
from streamsched.dsl.trace.export import Traced
from streamsched.dsl.trace.model import Literal, OpKind, StorageKind, Trace
from streamsched.dsl.trace.request import ScopeRequest

Attempt = Callable[..., Traced]

IMPORTS = """
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
"""
MODEL = (
    IMPORTS
    + """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {init}
    def forward(self, x):
        {forward}
"""
)


def model(forward: str, init: str = "pass") -> str:
    return MODEL.format(forward=forward.replace("\n", "\n        "), init=init.replace("\n", "\n        "))


def traced(attempt: Attempt, forward: str, init: str = "pass", world: int = 4) -> Trace:
    made = attempt(model(forward, init), request={"world": world}, x=(8, 8))
    assert made.trace is not None, made.diagnostics
    return made.trace


def refused(attempt: Attempt, forward: str, init: str = "pass", world: int = 4) -> Any:
    [found] = attempt(model(forward, init), request={"world": world}, x=(8, 8)).diagnostics
    return found


def names_of_groups(trace: Trace) -> list[str]:
    texts = [op.args[-1] for op in trace.ops if group_of(op, trace) >= 0]
    return [argument.text for argument in texts if isinstance(argument, Literal)]


@pytest.mark.parametrize(
    ("call", "shape"),
    [
        ('funcol.all_reduce(x, "sum", dist.group.WORLD)', (8, 8)),
        ("funcol.all_gather_tensor(x, 0, dist.group.WORLD)", (32, 8)),
        ('funcol.reduce_scatter_tensor(x, "sum", 0, dist.group.WORLD)', (2, 8)),
        ("funcol.all_to_all_single(x, None, None, dist.group.WORLD)", (8, 8)),
        ("funcol.broadcast(x, 0, dist.group.WORLD)", (8, 8)),
    ],
)
def test_functional_collectives(attempt: Attempt, call: str, shape: tuple[int, ...]) -> None:
    trace = traced(attempt, f"y = {call}\nreturn y * 2")
    begun, wait, product = trace.ops
    assert waits_of(trace) == {0: (1,)}
    assert begun.kind is wait.kind is OpKind.KERNEL
    assert trace.storages[group_of(begun, trace)].kind is StorageKind.PROCESS_GROUP
    assert group_of(wait, trace) == group_of(product, trace) == -1
    assert set(begun.reads) - {group_of(begun, trace)} <= set(wait.reads), "its operand lives until the wait"
    assert set(wait.writes) == set(begun.writes) - {group_of(begun, trace)}
    [result] = [value for value in trace.values if value.local == "y"]
    assert result.shape == shape
    assert names_of_groups(trace) == ["torch.distributed.group.WORLD.group_name"]


def test_coalesced_collectives_have_a_wait_for_each_result(attempt: Attempt) -> None:
    trace = traced(attempt, 'a, b = funcol.all_reduce_coalesced([x, x + 1], "sum", dist.group.WORLD)\nreturn a + b')
    [(collective, waits)] = waits_of(trace).items()
    assert [trace.ops[op].target for op in (collective, *waits)] == [
        "_c10d_functional.all_reduce_coalesced.default",
        *["_c10d_functional.wait_tensor.default"] * 2,
    ]


def test_a_second_wait_does_nothing(attempt: Attempt) -> None:
    trace = traced(attempt, 'y = funcol.wait_tensor(funcol.all_reduce(x, "sum", dist.group.WORLD))\nreturn y * 2')
    assert [op.kind for op in trace.ops if "wait" in op.target] == [OpKind.KERNEL, OpKind.VIEW]


def test_blocking_collectives_are_functional_ones_and_a_copy(attempt: Attempt) -> None:
    trace = traced(attempt, "y = x + 1\ndist.all_reduce(y)\nreturn y")
    assert [op.target.split(".")[1] for op in trace.ops] == ["add", "all_reduce", "wait_tensor", "copy_"]


@pytest.mark.parametrize(
    ("init", "group", "expression"),
    [
        ("self.tp_group = dist.new_group([0, 1])", "self.tp_group", "self.tp_group.group_name"),
        ("self.group_name = dist.new_group([0, 1]).group_name", "self.group_name", "self.group_name"),
        (
            "self.groups = type('Groups', (), {})()\nself.groups.tp = dist.new_group([0, 1])",
            "self.groups.tp",
            "self.groups.tp.group_name",
        ),
        ("self.groups = {'tp': dist.new_group([0, 1])}", "self.groups['tp']", 'self.groups["tp"].group_name'),
        ("self.groups = (None, dist.new_group([0, 1]))", "self.groups[1]", "self.groups[1].group_name"),
        (
            "from torch.distributed.device_mesh import init_device_mesh\n"
            "self.mesh = init_device_mesh('cpu', (2, 2), mesh_dim_names=('dp', 'tp'))",
            "self.mesh.get_group('tp')",
            'self.mesh.get_group("tp").group_name',
        ),
    ],
)
def test_the_expression_of_a_group(attempt: Attempt, init: str, group: str, expression: str) -> None:
    trace = traced(attempt, f'return funcol.all_reduce(x, "sum", {group}) + 1', init)
    assert names_of_groups(trace) == [expression]


def test_groups_are_found_in_the_nearest_module_and_told_apart(attempt: Attempt) -> None:
    source = (
        IMPORTS
        + """
class Row(nn.Module):
    def __init__(self, group):
        super().__init__()
        self.tp_group = group
    def forward(self, x):
        return funcol.all_reduce(x, "sum", self.tp_group)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tp_group = dist.new_group([0, 1])
        self.rows = nn.ModuleList([Row(self.tp_group), Row(dist.new_group([0, 1]))])
    def forward(self, x):
        return self.rows[1](self.rows[0](x)) + 1
"""
    )
    trace = attempt(source, request={"world": 4}, x=(8, 8)).trace
    assert trace is not None
    assert names_of_groups(trace) == ["self.rows[0].tp_group.group_name", "self.rows[1].tp_group.group_name"]
    kind = StorageKind.PROCESS_GROUP
    assert [storage.name for storage in trace.storages if storage.kind is kind] == ["group tp", "group tp_2"]


SCOPED = (
    IMPORTS
    + """
class Part(nn.Module):
    def forward(self, x, group=None):
        return funcol.all_reduce(x * 2, "sum", {group}) + 1

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tp_group = dist.new_group([0, 1])
        self.part = Part()
        {init}

    def forward(self, x):
        return self.part(x{given}) * 3
"""
)


def scoped(attempt: Attempt, group: str, init: str = "pass", given: str = "") -> Traced:
    scope = ScopeRequest("part", "", Span("test.sched", 3, 1, 3, 9))
    return attempt(SCOPED.format(group=group, init=init, given=given), {"world": 4, "scope": scope}, x=(8, 8))


def test_a_group_that_only_the_model_around_the_scope_holds(attempt: Attempt) -> None:
    [found] = scoped(attempt, "G", "global G; G = self.tp_group").diagnostics
    assert found.code == "TRC117"
    assert found.message == (
        "no attribute of `part`, which is in scope, holds the process group of `all_reduce`: "
        "it is in the model's `self.tp_group`"
    )
    assert (
        found.help == "keep the group in an attribute of the module that uses it, as `self.tp_group` in its __init__()"
    )


@pytest.mark.parametrize("given", [", self.tp_group", ", group=self.tp_group"])
def test_a_group_that_a_module_in_scope_is_given(attempt: Attempt, given: str) -> None:
    [found] = scoped(attempt, "group", given=given).diagnostics
    assert found.code == "TRC117"
    assert found.message == "`part`, which is in scope, is given a process group by the model around it"


@pytest.mark.parametrize(
    ("init", "group"),
    [
        ("self.part.tp_group = self.tp_group", "self.tp_group"),
        ("object.__setattr__(self.part, 'model', self)", "self.model.tp_group"),
    ],
)
def test_a_group_that_a_module_in_scope_reaches(attempt: Attempt, init: str, group: str) -> None:
    trace = scoped(attempt, group, init).trace
    assert trace is not None
    assert names_of_groups(trace) == [f"{group}.group_name"]


def test_a_group_that_no_attribute_holds(attempt: Attempt) -> None:
    init = "global G\nG = dist.new_group([0])"
    found = refused(attempt, 'return funcol.all_reduce(x, "sum", G) + 1', init)
    assert (found.code, found.message) == (
        "TRC117",
        "no attribute of the model holds the process group of `all_reduce`",
    )
    assert found.related


def test_async_op(attempt: Attempt) -> None:
    found = refused(attempt, "y = x + 1\nhandle = dist.all_reduce(y, async_op=True)\nhandle.wait()\nreturn y")
    assert found.code == "TRC115"
    assert "async_op=True" in found.message and "model.py:14" in found.message
    assert "funcol.all_reduce(y" in found.help


@pytest.mark.parametrize("call", ["dist.broadcast(y, 0)", "dist.barrier()", "dist.send(y, 1)", "dist.reduce(y, 0)"])
def test_what_leaves_no_result(attempt: Attempt, call: str) -> None:
    assert refused(attempt, f"y = x + 1\n{call}\nreturn y").code == "TRC116"


def test_differentiable_collectives(attempt: Attempt) -> None:
    forward = "import torch.distributed.nn.functional as differentiable\nreturn differentiable.all_reduce(x)"
    found = refused(attempt, forward)
    assert found.code == "TRC116"


@pytest.mark.parametrize(
    ("forward", "init"),
    [
        ('return funcol.all_reduce(x, "sum", dist.group.WORLD)', "pass"),
        ("return x * dist.get_world_size()", "pass"),
        ("return x", "self.group = dist.new_group([0])"),
        ("return x", 'dist.init_process_group("gloo")'),
        (
            'return funcol.all_reduce(x, "sum", dist.group.WORLD)',
            'dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())',
        ),
    ],
)
def test_without_world(attempt: Attempt, forward: str, init: str) -> None:
    found = refused(attempt, forward, init, world=0)
    assert found.code == "TRC118", found
    assert "world N" in found.help
    assert not dist.is_initialized()


@pytest.mark.parametrize("forward", ["return x + dist.get_world_size()", "raise ValueError(x)"])
def test_nothing_is_left_behind(attempt: Attempt, forward: str) -> None:
    before = dict(os.environ)
    attempt(model(forward, "self.group = dist.new_group([0, 1])"), request={"world": 4}, x=(8, 8))
    assert not dist.is_initialized()
    assert dict(os.environ) == before


def test_a_module_of_torch_that_a_model_imports_first_keeps_its_ops() -> None:
    code = (
        "import sys; sys.modules['torch_npu'] = None; import torch, pathlib, tempfile\n"
        "from streamsched.dsl.trace.sources import Sources\n"
        "from streamsched.dsl.trace.tracing.registrations import forgotten\n"
        "base = tempfile.mkdtemp(); file = pathlib.Path(base, 'model.py')\n"
        "file.write_text('import torch.distributed._functional_collectives')\n"
        "with forgotten(Sources(base)):\n"
        "    exec(compile(file.read_text(), str(file), 'exec'), {})\n"
        "import torch.distributed._functional_collectives as funcol\n"
        "print(funcol.lib_impl.m is not None)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"]
