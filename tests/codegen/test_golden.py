"""Generated files and tables of real models, kept as golden files, and run against the original.

`UPDATE_GOLDEN=1 pytest tests/codegen/test_golden.py` writes the golden files anew.
"""

from __future__ import annotations

import copy
import importlib.util
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from modelled import HEAD, Planned

from streamsched.codegen.emitter import generate, same_generated
from streamsched.codegen.pictures.show import show

GOLDEN = Path(__file__).parent / "golden"


@dataclass(frozen=True)
class Case:
    name: str
    model: str
    schedule: str
    inputs: tuple[tuple[int, ...], ...]
    targets: tuple[str, ...]


MULTI_STREAM = Case(
    "multi_stream",
    """
class Model(nn.Module):
    def forward(self, in1, in2, in3, in4):
        add_result = torch.add(in1, in2)
        B = in3 + in4
        mm_result = torch.mm(B, in4)
        mm1 = torch.mm(in3, in4)
        add2 = torch.add(in3, in4)
        return add_result, mm_result, mm1, add2
""",
    """
input in1, in2, in3, in4: f32[8, 8]
stream stream1, stream2
group inputs = value { add_result, B }
group mm = value "mm_result"
group add2 = value "add2"
mm on stream1
add2 on stream2
inputs -> mm -> add2
""",
    ((8, 8),) * 4,
    ("npugraph_ex", "npu", "cuda", "cpu"),
)

LIMITS = Case(
    "limits",
    """
class Model(nn.Module):
    def forward(self, x, y):
        first = torch.mm(x, y)
        both = first + torch.mm(y, x)
        outside = torch.mm(x, x)
        return both, outside
""",
    """
input x, y: f32[8, 8]
sync auto
stream default { cores aic 12, aiv 24 }
stream limited { priority -1; cores aic 4, aiv 5 }
group limited = value { first, both }
limited on limited
""",
    ((8, 8),) * 2,
    ("npugraph_ex", "cuda"),
)

BRANCHES = Case(
    "branches",
    """
class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(8, 32), nn.Linear(32, 8)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.left, self.right = nn.LayerNorm(8), Mlp(), Mlp()
        self.experts = nn.ModuleList([Mlp(), Mlp()])

    def forward(self, x, y=None, *rest, scale: float = 2.0, **options):
        residual = x
        x = self.norm(x)
        left = self.left(x)
        left *= scale
        right = self.right(x + y).t()
        values, indices = torch.topk(x, 2, dim=-1)
        out = torch.zeros_like(x)
        for index, expert in enumerate(self.experts):
            out += expert(x) * values[:, index : index + 1]
        with torch.autocast("cpu", dtype=torch.bfloat16):
            mixed = torch.mm(right, left)
            mixed = mixed + 1
        out = out + residual
        return {"out": out, "mixed": (mixed, right)}
""",
    """
input x, y: f32[8, 8]
sync auto
stream left, right
value "left" on left
value "right" on right
group experts = module "experts.*"
group merge = value "out"[-1]
experts -> merge
""",
    ((8, 8),) * 2,
    ("npugraph_ex", "cpu"),
)

CASES = (MULTI_STREAM, LIMITS, BRANCHES)


def check_golden(name: str, text: str, same: Callable[[str, str], bool]) -> None:
    path = GOLDEN / name
    text = re.sub(r"\b[0-9a-f]{64}\b", "0" * 64, text)
    text = re.sub(r"\(\S*/(\w+\.\w+:)", r"(\1", text)
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert path.is_file(), f"{name} is missing: run with UPDATE_GOLDEN=1"
    assert same(path.read_text(encoding="utf-8"), text), f"{name} differs: run with UPDATE_GOLDEN=1, and look at it"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_generated_files(planned: Planned, case: Case) -> None:
    for target in case.targets:
        program = planned(case.model, case.schedule, target)
        check_golden(f"{case.name}.{target}.py", generate(program, target), same_generated)
        check_golden(f"{case.name}.{target}.txt", show(program), str.__eq__)


def import_model(case: Case, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    path = folder / "original.py"
    path.write_text(HEAD + case.model, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("original_of_golden", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module.Model().eval()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_cpu_forward_is_bit_identical(
    planned: Planned, case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    import torch._dynamo
    from torch.utils import _pytree

    space: dict[str, Any] = {}
    exec(compile(generate(planned(case.model, case.schedule, "cpu"), "cpu"), "generated", "exec"), space)
    original = import_model(case, tmp_path, monkeypatch)
    scheduled = space["apply"](copy.deepcopy(original))
    compiled = torch.compile(scheduled, fullgraph=True, backend="eager")
    torch.manual_seed(1)
    inputs = [torch.randn(shape) for shape in case.inputs]
    with torch.no_grad():
        wanted, shape = _pytree.tree_flatten(original(*copy.deepcopy(inputs)))
        for model in (scheduled, compiled):
            got, same_shape = _pytree.tree_flatten(model(*copy.deepcopy(inputs)))
            assert shape == same_shape
            assert all(torch.equal(a, b) for a, b in zip(wanted, got, strict=True))
