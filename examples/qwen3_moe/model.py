"""Qwen3-MoE from transformers: 30B-A3B as released, on the meta device, and a tiny one for numbers."""

import torch
from transformers import AutoModelForCausalLM, Qwen3MoeConfig


def build():
    return _model(
        Qwen3MoeConfig(
            hidden_size=2048,
            num_hidden_layers=48,
            num_attention_heads=32,
            num_key_value_heads=4,
            head_dim=128,
            num_experts=128,
            num_experts_per_tok=8,
            moe_intermediate_size=768,
        )
    )


def tiny():
    return _model(
        Qwen3MoeConfig(
            vocab_size=96,
            hidden_size=64,
            intermediate_size=96,
            num_hidden_layers=3,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=16,
            num_experts=8,
            num_experts_per_tok=2,
            moe_intermediate_size=32,
        )
    )


def _model(config):
    config.use_cache = False
    # npugraph_ex cannot capture torch's grouped_mm: it copies the group offsets to the host.
    config._experts_implementation = "batched_mm"
    return AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
