"""What a call unlike the traced one hands on to the forward that was bound before: what the caller gave."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from modelled import HEAD

from streamsched.codegen.emitter import generate
from streamsched.dsl.pipeline import load
from streamsched.verify.generated import load_generated

SIDE = 'sync auto\nstream side\nmodule "{}" on side\n'

RENAMED = """
import functools

def renamed(forward):
    @functools.wraps(forward)
    def wrapper(self, *args, **kwargs):
        for old, new in (("mask", "bias"), ("factor", "gain")):
            if old in kwargs:
                assert new not in kwargs, f"both {old} and {new}"
                kwargs[new] = kwargs.pop(old)
        return forward(self, *args, **kwargs)
    return wrapper

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(4, 4), nn.Linear(4, 4)

    @renamed
    def forward(self, x, bias=None, pair=(None, 1.0), *, gain=2.0, **options):
        out = (self.left(x) + self.right(x)) * gain * pair[1]
        return out if bias is None else out + bias

def inputs():
    return {"x": torch.ones(2, 4)}
"""
CALLS: list[dict[str, Any]] = [
    {"mask": torch.ones(4)},
    {"bias": torch.ones(4)},
    {"factor": 3.0},
    {"mask": torch.ones(4), "gain": 3.0, "pair": (None, 2.0)},
    {"pair": (torch.ones(1), 1.0)},
]

LLAMA = """
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM, StaticCache

config = LlamaConfig(
    num_hidden_layers=2, hidden_size=32, intermediate_size=32, num_attention_heads=2, num_key_value_heads=1,
    vocab_size=64,
)
config._attn_implementation = "sdpa"

def build():
    torch.manual_seed(0)
    return LlamaForCausalLM(config)

def without():
    return {"input_ids": torch.ones(1, 4, dtype=torch.int64), "use_cache": False}

def token(cache):
    return {"input_ids": torch.ones(1, 1, dtype=torch.int64), "past_key_values": cache, "use_cache": True}

def static():
    cache = StaticCache(config, max_cache_len=8)
    cache.early_initialization(1, 1, 16, torch.float32, torch.zeros(1).device)
    return token(cache)

def dynamic():
    cache = DynamicCache(config=config)
    for index in range(2):
        cache.update(*torch.ones(2, 1, 1, 5, 16), index)
    return token(cache)

def empty():
    return token(DynamicCache(config=config))
"""


def made(folder: Path, model: str, root: str, inputs: str, side: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is in the model's file, and in the one generated of it."""
    (folder / "model.py").write_text(HEAD + model)
    path = folder / "test.sched"
    head = f'schedule test\ntarget cpu\nmodel "model.py:{root}"\ninputs from "model.py:{inputs}"\n'
    path.write_text(head + SIDE.format(side))
    loaded = load(str(path), target="cpu")
    assert not loaded.failed and loaded.program is not None, loaded.diagnostics
    space: dict[str, Any] = {}
    exec(HEAD + model, space)
    return space, load_generated(generate(loaded.program, "cpu"))


def test_a_decorator_that_renames_finds_one_name(tmp_path: Path) -> None:
    space, file = made(tmp_path, RENAMED, "Model", "inputs", "right")
    model = space["Model"]().eval()
    scheduled = file["apply"](copy.deepcopy(model))
    for more in CALLS:
        assert torch.equal(scheduled(torch.ones(2, 4), **more), model(torch.ones(2, 4), **more)), more
    assert torch.equal(scheduled(torch.ones(3, 4), None, (None, 2.0)), model(torch.ones(3, 4), None, (None, 2.0)))


def test_what_is_handed_on_compiles_as_one_graph(tmp_path: Path) -> None:
    space, file = made(tmp_path, RENAMED, "Model", "inputs", "right")
    model = space["Model"]().eval()
    scheduled = file["apply"](copy.deepcopy(model))
    torch._dynamo.reset()
    compiled = torch.compile(scheduled, fullgraph=True, backend="eager", dynamic=False)
    for more in ({}, *CALLS):
        torch.testing.assert_close(compiled(torch.ones(2, 4), **more), model(torch.ones(2, 4), **more))
    torch._dynamo.reset()


@pytest.mark.parametrize("kind", ["static", "dynamic", "empty"])
def test_a_cache_under_its_former_name(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    space, file = made(tmp_path, LLAMA, "build", kind, "**.v_proj")
    original, scheduled = space["build"]().eval(), file["apply"](space["build"]().eval(), strict=True)
    with torch.no_grad():
        assert torch.equal(scheduled(**space[kind]()).logits, original(**space[kind]()).logits)


def test_a_cache_under_its_former_name_where_none_was_traced(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    space, file = made(tmp_path, LLAMA, "build", "without", "**.v_proj")
    original, scheduled = space["build"]().eval(), file["apply"](space["build"]().eval())
    with torch.no_grad():
        for kind in ("without", "dynamic", "empty"):
            assert torch.equal(scheduled(**space[kind]()).logits, original(**space[kind]()).logits), kind
