"""Leaves are printed as the calls of their modules, and give the numbers of the original."""

from __future__ import annotations

from pathlib import Path

import pytest
from modelled import HEAD, plan_model

from streamsched.codegen.emitter import generate
from streamsched.dsl.diagnostic import apply_edits
from streamsched.dsl.pipeline import load
from streamsched.verify.request import Request
from streamsched.verify.run import verify

CONTAINERS = """
from dataclasses import dataclass


@dataclass
class Pair:
    left: torch.Tensor
    right: dict


class Split(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(8, 8)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x, scale=1.0):
        self.seen += 1
        if bool(x.sum() > 1e9):
            return None
        x.mul_(scale)
        return Pair(self.proj(x), {"sum": x.sum(-1, keepdim=True), "x": x})


def split(x, scale=1.0):
    x.mul_(scale)
    return Pair(torch.empty_like(x), {"sum": x.new_empty(4, 1), "x": x})


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.split = Split()

    def forward(self, x, y):
        a = x + 1
        pair = self.split(a, scale=0.5)
        b = y.relu()
        return pair.left * pair.right["sum"] + b, a, pair.right["x"]
"""


def test_a_result_in_containers_is_taken_apart(tmp_path: Path) -> None:
    schedule = """
        input x, y: f32[4, 8]
        leaf "split" from "model.py:split"
        stream side
        group b = value "b"
        b on side
        sync auto
    """
    program = plan_model(tmp_path, CONTAINERS, schedule, "npu")
    lines = [line.strip() for line in generate(program, "npu").splitlines()]
    assert "split_result_0 = self.split(a, scale=0.5)" in lines
    assert 'split_result_0, split_result_1 = split_result_0.left, split_result_0.right["sum"]' in lines


@pytest.mark.parametrize("placed", ["b", "leaf"])
def test_a_leaf_keeps_its_numbers_under_every_order(tmp_path: Path, placed: str) -> None:
    schedule = f"""
        input x, y: f32[4, 8]
        target cpu
        leaf "split" from "model.py:split"
        stream side
        group b = value "b"
        group leaf = module "split"
        {placed} on side
        sync auto
    """
    plan_model(tmp_path, CONTAINERS, schedule)
    loaded = load(str(tmp_path / "test.sched"))
    verdict = verify(loaded, Request("", orders=3))
    assert not isinstance(verdict, tuple), verdict
    assert verdict.agrees, (verdict.failures, verdict.differences)


TRANSFORMERS = """
from transformers import AutoModelForCausalLM, {name}Config


def build():
    config = {name}Config(
        hidden_size=32, intermediate_size=48, moe_intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, num_local_experts=4, num_experts=4, num_experts_per_tok=2, vocab_size=64,
        use_cache=False, head_dim=8,
    )
    return AutoModelForCausalLM.from_config(config, experts_implementation="eager")
"""


@pytest.mark.parametrize("name", ["Mixtral", "Qwen3Moe"])
def test_the_fix_for_eager_experts_makes_them_trace(tmp_path: Path, name: str) -> None:
    pytest.importorskip("transformers")
    (tmp_path / "model.py").write_text(HEAD + TRANSFORMERS.format(name=name))
    path = tmp_path / "moe.sched"
    path.write_text('schedule moe\nmodel "model.py:build"\ninput input_ids: i64[1, 8]\ntarget cpu\n')
    (found,) = load(str(path)).diagnostics
    assert found.code == "TRC107" and found.fix is not None
    path.write_text(apply_edits(path.read_text(), found.fix.edits))
    assert 'leaf "model.layers.*.mlp.experts" from "torch:empty_like"' in path.read_text().splitlines()
    verdict = verify(load(str(path)), Request("", orders=1, calls=1))
    assert not isinstance(verdict, tuple), verdict
    assert verdict.agrees, (verdict.failures, verdict.differences)
