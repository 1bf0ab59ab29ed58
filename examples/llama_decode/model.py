"""Llama from transformers, one step of decoding with a static cache: Llama-3-8B, and a tiny one for numbers."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM, StaticCache

LENGTH = 64
"""The tokens that the cache has room for."""


def llama_8b():
    return LlamaConfig(
        vocab_size=128_256,
        hidden_size=4096,
        intermediate_size=14_336,
        num_hidden_layers=32,
        num_attention_heads=32,
        num_key_value_heads=8,
    )


def llama_tiny():
    return LlamaConfig(
        vocab_size=96,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=LENGTH,
    )


def build():
    return LlamaForCausalLM._from_config(llama_8b(), dtype=torch.bfloat16)


def tiny():
    return LlamaForCausalLM._from_config(llama_tiny(), dtype=torch.bfloat16)


def decode():
    return _decode(llama_8b())


def decode_tiny():
    return _decode(llama_tiny())


def _decode(config):
    """The eighth token: one id, its position, and a cache that is filled in place."""
    cache = StaticCache(config, max_cache_len=LENGTH)
    heads, width = config.num_key_value_heads, config.hidden_size // config.num_attention_heads
    for layer in cache.layers:
        layer.lazy_initialization(*(torch.empty(1, heads, 1, width, dtype=torch.bfloat16) for _ in range(2)))
    return {
        "input_ids": torch.zeros(1, 1, dtype=torch.int64),
        "position_ids": torch.full((1, 1), 7),
        "past_key_values": cache,
        "use_cache": True,
    }
