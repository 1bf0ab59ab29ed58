"""Whisper's audio encoder from transformers: whisper-small as released, and a tiny one for numbers."""

import torch
from transformers import WhisperConfig
from transformers.models.whisper.modeling_whisper import WhisperEncoder


def build():
    return _encoder(WhisperConfig(d_model=768, encoder_layers=12, encoder_attention_heads=12, encoder_ffn_dim=3072))


def tiny():
    return _encoder(
        WhisperConfig(
            d_model=32,
            encoder_layers=3,
            encoder_attention_heads=4,
            encoder_ffn_dim=64,
            num_mel_bins=8,
            max_source_positions=16,
        )
    )


def _encoder(config):
    return WhisperEncoder(config).to(torch.float16)
