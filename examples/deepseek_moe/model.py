"""DeepSeek-V3's mixture-of-experts block, from transformers: the real configuration, and a tiny one for numbers."""

import torch
from transformers import DeepseekV3Config
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3MoE


def build():
    return _block(DeepseekV3Config())


def tiny():
    return _block(
        DeepseekV3Config(
            hidden_size=64,
            moe_intermediate_size=32,
            n_routed_experts=16,
            num_experts_per_tok=4,
            n_group=4,
            topk_group=2,
        )
    )


def _block(config):
    # npugraph_ex cannot capture torch's grouped_mm: it copies the group offsets to the host.
    config._experts_implementation = "batched_mm"
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        return DeepseekV3MoE(config)
    finally:
        torch.set_default_dtype(default)
