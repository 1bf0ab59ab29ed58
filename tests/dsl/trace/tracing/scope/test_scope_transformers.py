"""Scopes over transformers' models, in tiny sizes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from streamsched.dsl.diagnostic import Span
from streamsched.dsl.trace.export import Traced, trace_model
from streamsched.dsl.trace.model import Trace, refs
from streamsched.dsl.trace.request import ScopeRequest, TraceRequest

pytest.importorskip("transformers")

SPAN = Span("test.sched", 2, 1, 2, 6)

SOURCE = """
import torch
from transformers import (
    DeepseekV3Config, DeepseekV3ForCausalLM, Gemma3ForCausalLM, Gemma3TextConfig, LlamaConfig, LlamaForCausalLM,
    Qwen2Config, Qwen2ForCausalLM, StaticCache,
)

SIZE = dict(
    hidden_size=32, intermediate_size=64, num_attention_heads=4, num_key_value_heads=2, vocab_size=64, use_cache=False,
)

def deepseek():
    experts = dict(n_routed_experts=8, n_group=2, topk_group=1, num_experts_per_tok=2, moe_intermediate_size=16)
    heads = dict(q_lora_rank=8, kv_lora_rank=8, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8)
    size = SIZE | experts | heads | dict(num_key_value_heads=4)
    return DeepseekV3ForCausalLM(DeepseekV3Config(num_hidden_layers=5, first_k_dense_replace=2, **size))

def llama():
    return LlamaForCausalLM(LlamaConfig(num_hidden_layers=3, **SIZE))

def llama_decode():
    cache = StaticCache(config=LlamaConfig(num_hidden_layers=3, **SIZE), max_cache_len=16)
    cache.early_initialization(1, 2, 8, torch.float32, "meta")
    return {"input_ids": torch.ones(1, 1, dtype=torch.long), "past_key_values": cache, "use_cache": True}

def llama_prefill():
    return llama_decode() | ids()

def llama_next_chunk():
    inputs = llama_prefill()
    for layer in inputs["past_key_values"].layers:
        layer.cumulative_length.fill_(5)
    return inputs

def gemma():
    kinds = ["sliding_attention", "full_attention", "sliding_attention"]
    size = SIZE | dict(head_dim=8, sliding_window=4, layer_types=kinds)
    return Gemma3ForCausalLM(Gemma3TextConfig(num_hidden_layers=3, **size))

def qwen():
    sliding = dict(use_sliding_window=True, sliding_window=4, max_window_layers=1)
    return Qwen2ForCausalLM(Qwen2Config(num_hidden_layers=3, **sliding, **SIZE))

def ids():
    return {"input_ids": torch.ones(1, 8, dtype=torch.long)}

def ids_and_mask():
    return ids() | {"attention_mask": torch.ones(1, 8, dtype=torch.long)}
"""


@pytest.fixture
def scoped(tmp_path: Path) -> Callable[..., tuple[Traced, list[str]]]:
    """Trace the modules in scope; the paths of those that were not skipped."""

    def run(
        name: str, glob: str, cls: str = "", inputs: str = "ids", compiled: bool = True
    ) -> tuple[Traced, list[str]]:
        (tmp_path / "model.py").write_text(SOURCE)
        traced: list[str] = []
        request = TraceRequest(
            str(tmp_path), "model.py", name, (), ("model.py", inputs), (), SPAN, SPAN, SPAN,
            scope=ScopeRequest(glob, cls, SPAN), compiled=compiled,
        )  # fmt: skip
        made = trace_model(request, progress=traced.append)
        prefix = "tracing model.layers."
        return made, [text.removeprefix("tracing ") for text in traced if text.startswith(prefix)]

    return run


def one(made: Traced) -> Trace:
    assert made.trace is not None, made.diagnostics
    return made.trace


def test_experts_of_deepseek(scoped: Callable[..., tuple[Traced, list[str]]]) -> None:
    made, traced = scoped("deepseek", "model.layers.*.mlp", "DeepseekV3MoE")
    trace = one(made)
    assert traced == ["model.layers.2.mlp"], "the others hold nothing else"
    assert trace.scope is not None
    assert trace.scope.instances == ("model.layers.2.mlp", "model.layers.3.mlp", "model.layers.4.mlp")
    assert {"", "gate", "experts", "shared_experts"} <= {call.path for call in trace.calls}
    assert "self.shared_experts.up_proj.weight" in [value.expression for value in trace.values]
    assert "transformers" in {source.package for _, source in trace.sources}


def test_dense_and_expert_layers_of_deepseek_differ(scoped: Callable[..., tuple[Traced, list[str]]]) -> None:
    made, traced = scoped("deepseek", "model.layers.*.mlp")
    [found] = made.diagnostics
    assert traced == ["model.layers.0.mlp", "model.layers.2.mlp"]
    assert found.code == "SEL110"
    assert "`model.layers.0.mlp` and `model.layers.2.mlp` at op 1" in found.message
    assert len(found.related) == 2
    assert found.notes == ("alike: `model.layers.{0..1}.mlp` (2)", "alike: `model.layers.{2..4}.mlp` (3)")
    assert found.fix is not None
    assert found.fix.edits[0].text == 'scope "model.layers.*.mlp" class DeepseekV3MoE'


@pytest.mark.parametrize("inputs", ["ids", "ids_and_mask"])
def test_layers_of_llama(scoped: Callable[..., tuple[Traced, list[str]]], inputs: str) -> None:
    made, traced = scoped("llama", "model.layers.*", inputs=inputs)
    assert len(traced) == 3, "attention knows the number of its layer"
    inputs_of = [one(made).values[value].expression for value in one(made).inputs]
    assert {"hidden_states", "position_embeddings[0]", "position_embeddings[1]"} <= set(inputs_of)


def test_layers_of_a_static_cache(scoped: Callable[..., tuple[Traced, list[str]]]) -> None:
    trace = one(scoped("llama", "model.layers.*", inputs="llama_decode")[0])
    layer = "cache.layers[self.self_attn.layer_idx]"
    nested = [trace.values[value].expression for value in trace.inputs if "." in trace.values[value].expression]
    assert nested == [f"{layer}.keys", f"{layer}.values", f"{layer}.cumulative_length"]
    written = {storage for op in trace.ops for storage in op.writes}
    caches = [value for value in trace.values if value.expression in nested]
    assert all(written & set(value.storages) for value in caches)
    used = {trace.values[value].expression for op in trace.ops for arg in op.args for value in refs(arg)}
    assert not {expression for expression in used if expression.startswith("cache.layers[1]")}


@pytest.mark.parametrize(
    ("inputs", "compiled", "masks"),
    [
        ("llama_prefill", False, []),
        ("llama_prefill", True, [(1, 1, 8, 16)]),
        ("llama_next_chunk", False, [(1, 1, 8, 16)]),
    ],
)
def test_the_length_of_a_static_cache_decides_about_the_mask(
    scoped: Callable[..., tuple[Traced, list[str]]], inputs: str, compiled: bool, masks: list[tuple[int, ...]]
) -> None:
    """Run eagerly, transformers passes no mask for the first tokens, and one for more; compiled, it does not look."""
    trace = one(scoped("llama", "model.layers.*", inputs=inputs, compiled=compiled)[0])
    assert [trace.values[v].shape for v in trace.inputs if trace.values[v].expression == "attention_mask"] == masks


@pytest.mark.parametrize("name", ["gemma", "qwen"])
def test_layers_with_a_window_of_their_own(scoped: Callable[..., tuple[Traced, list[str]]], name: str) -> None:
    """The window is in the mask, which is an input, or in a constant: that must not be one layer's for all."""
    made, _ = scoped(name, "model.layers.*")
    trace = one(made)
    masks = [value.shape for value in trace.values if value.expression == "attention_mask"]
    assert masks == [(1, 1, 8, 8)]
