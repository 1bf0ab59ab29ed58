"""DeepSeek-V3 from transformers: as released, 61 layers on the meta device, and a tiny one for numbers."""

import torch
from transformers import AutoModelForCausalLM, DeepseekV3Config


def build():
    return _model(DeepseekV3Config())


def tiny():
    return _model(
        DeepseekV3Config(
            vocab_size=96,
            hidden_size=64,
            intermediate_size=96,
            moe_intermediate_size=32,
            num_hidden_layers=5,
            num_attention_heads=4,
            num_key_value_heads=4,
            n_routed_experts=16,
            num_experts_per_tok=4,
            n_group=4,
            topk_group=2,
            q_lora_rank=24,
            kv_lora_rank=16,
            qk_nope_head_dim=16,
            qk_rope_head_dim=8,
            v_head_dim=16,
        )
    )


def _model(config):
    config.use_cache = False
    # npugraph_ex cannot capture torch's grouped_mm: it copies the group offsets to the host.
    config._experts_implementation = "batched_mm"
    return AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
