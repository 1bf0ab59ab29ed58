"""The number of ranks is in the code of some collectives: another one runs the original."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from modelled import plan_model

from streamsched.codegen.emitter import generate
from streamsched.dsl.trace.tracing.world import ranks
from streamsched.verify.generated import load_generated

MODEL = """
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.GROUP
        self.left, self.right = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        gathered = funcol.all_gather_tensor(self.left(x), 0, self.tp)
        right = self.right(x)
        return gathered, right
"""
SCHEDULE = """\
input x: f32[4, 8]
world 4
target cpu
stream side
sync auto
value "right" on side
"""
GROUPS = ("tp = dist.group.WORLD", "tp_group = self.tp = dist.group.WORLD.group_name")


@pytest.fixture
def two_ranks() -> Iterator[None]:
    with ranks(2):
        yield
    assert not dist.is_initialized()


@pytest.mark.parametrize("group", GROUPS)
def test_another_number_of_ranks(group: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    text = generate(plan_model(tmp_path, MODEL.replace("GROUP", group), SCHEDULE), "cpu")
    assert ".size() = 4\n" in text
    space = load_generated(text)
    source = load_generated("import torch\nfrom torch import nn\n" + MODEL.replace("GROUP", group))
    request.getfixturevalue("two_ranks")
    original = source["Model"]().eval()
    x = torch.rand(4, 8)
    expected = original(x)
    assert expected[0].shape == (8, 8)
    assert all(map(torch.equal, space["apply"](original)(x), expected))
    with pytest.raises(ValueError, match=r"size\(\) is 2, traced with 4"):
        space["apply"](original, strict=True)(x)
