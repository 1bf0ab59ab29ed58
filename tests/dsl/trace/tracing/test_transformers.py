"""A real model: transformers' Llama, one tiny layer, built on the meta device."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from streamsched.dsl.trace.export import Traced
from streamsched.dsl.trace.model import NONE, Instance, OpKind, StorageKind

pytest.importorskip("transformers")

SOURCE = """
from transformers import LlamaConfig, LlamaForCausalLM

def build(cache=False):
    config = LlamaConfig(
        num_hidden_layers=1, hidden_size=64, intermediate_size=128, num_attention_heads=4,
        num_key_value_heads=2, vocab_size=128, use_cache=cache,
    )
    return LlamaForCausalLM(config)

def build_with_cache():
    return build(True)
"""


def test_llama(attempt: Callable[..., Traced]) -> None:
    made = attempt(SOURCE, {"attribute": "build"}, input_ids=("i64", (1, 16)))
    assert made.trace is not None, made.diagnostics
    trace = made.trace
    assert 100 < len(trace.ops) < 200
    assert all(op.stack != NONE and op.statement != NONE for op in trace.ops)
    assert not any(op.random or op.host_sync for op in trace.ops)
    paths = {call.path: call for call in trace.calls}
    attention = paths["model.layers.0.self_attn"]
    assert attention.accessor == ".model.layers[0].self_attn"
    assert [op.target for op in trace.ops[attention.begin : attention.end]].count("aten.linear.default") == 4
    assert isinstance(trace.result, Instance) and trace.result.fields == ("logits",)
    logits = trace.values[trace.outputs()[0]]
    assert (logits.local, logits.shape) == ("logits", (1, 16, 128))
    parameters = [v.expression for v in trace.values if trace.storages[v.storages[0]].kind is StorageKind.PARAMETER]
    assert "self.model.layers[0].self_attn.q_proj.weight" in parameters
    assert trace.calls[0].branches_on_compiling
    assert [package for package in {s.package for _, s in trace.sources} if package] == ["transformers"]
    names = {v.inner for v in trace.values}
    assert {"query_states", "key_states", "attn_output", "causal_mask"} <= names
    views = [op for op in trace.ops if op.kind is OpKind.VIEW]
    assert all(op.writes == () for op in views)


def test_llama_with_a_cache_that_grows(attempt: Callable[..., Traced]) -> None:
    made = attempt(SOURCE, {"attribute": "build_with_cache"}, input_ids=("i64", (1, 16)))
    assert made.trace is None  # forward() makes the cache itself
    [diagnostic] = made.diagnostics
    assert diagnostic.code == "TRC108"
    assert "DynamicCache" in diagnostic.message
    assert "use_cache=False" in (diagnostic.help or "")
