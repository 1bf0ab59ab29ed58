"""Whole models print without `torch.ops.aten`: every op that they trace to has a public name."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from streamsched.codegen.spell.spelling import spell_call
from streamsched.dsl.diagnostic import Span
from streamsched.dsl.trace.export import trace_model
from streamsched.dsl.trace.model import Trace
from streamsched.dsl.trace.request import InputTensor, TraceRequest

pytest.importorskip("torch")
pytest.importorskip("transformers")

SMALL = """
import torch, transformers

SIZES = dict(hidden_size=32, intermediate_size=64, num_attention_heads=2, vocab_size=50)
LANGUAGE = dict(SIZES, num_key_value_heads=2, max_position_embeddings=64, use_cache=False)
MOE = dict(num_experts_per_tok=2, moe_intermediate_size=16)
LATENT = dict(kv_lora_rank=16, q_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8)
WHISPER = dict(
    d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2,
    encoder_ffn_dim=64, decoder_ffn_dim=64, vocab_size=50, max_source_positions=16, num_mel_bins=8,
    pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
)


class Recommender(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = torch.nn.ModuleList(torch.nn.EmbeddingBag(20, 8, mode="sum") for _ in range(2))
        self.dense = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU())
        self.top = torch.nn.Linear(11, 1)

    def forward(self, dense, offsets, indices):
        rows = [self.dense(dense), *(table(indices, offsets) for table in self.tables)]
        features = torch.stack(rows, dim=1)
        products = torch.bmm(features, features.transpose(1, 2))
        lower = torch.tril_indices(3, 3, offset=-1, device=dense.device)
        flat = products[:, lower[0], lower[1]]
        return torch.sigmoid(self.top(torch.cat([rows[0], flat], dim=1)))


def build():
    return MODEL.eval()

"""

LANGUAGE_MODEL = "transformers.AutoModelForCausalLM.from_config(transformers.{config}, dtype=torch.bfloat16)"
MODEL = "transformers.AutoModel.from_config(transformers.{config})"
IDS = (("input_ids", "i64", (1, 8)),)
IMAGE = (("pixel_values", "f32", (1, 3, 32, 32)),)

MODELS = {
    "llama": (LANGUAGE_MODEL.format(config="LlamaConfig(**LANGUAGE, num_hidden_layers=1)"), IDS),
    "qwen3_moe": (
        LANGUAGE_MODEL.format(config="Qwen3MoeConfig(**LANGUAGE, **MOE, num_hidden_layers=1, num_experts=4)"),
        IDS,
    ),
    "deepseek_v3": (
        LANGUAGE_MODEL.format(
            config="DeepseekV3Config(**LANGUAGE, **MOE, **LATENT, num_hidden_layers=2, first_k_dense_replace=1, "
            "n_routed_experts=8, n_group=2, topk_group=1)"
        ),
        IDS,
    ),
    "bert": (MODEL.format(config="BertConfig(**SIZES, num_hidden_layers=1)"), IDS),
    "vit": (
        MODEL.format(config="ViTConfig(**SIZES, num_hidden_layers=1, image_size=32, patch_size=8)").replace(
            "vocab_size=50", ""
        ),
        IMAGE,
    ),
    "whisper": (
        MODEL.format(config="WhisperConfig(**WHISPER, use_cache=False)"),
        (("input_features", "f32", (1, 8, 32)), ("decoder_input_ids", "i64", (1, 4))),
    ),
    "resnet": (
        MODEL.format(config="ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1])"),
        IMAGE,
    ),
    "dlrm": ("Recommender()", (("dense", "f32", (2, 4)), ("offsets", "i64", (2,)), ("indices", "i64", (6,)))),
}


def trace_of(folder: Path, model: str, inputs: tuple[tuple[str, str, tuple[int, ...]], ...]) -> Trace:
    (folder / "model.py").write_text(SMALL.replace("MODEL", model))
    span = Span("test.sched", 1, 1, 1, 1)
    tensors = tuple(InputTensor(*each) for each in inputs)
    request = TraceRequest(str(folder), "model.py", "build", tensors, None, (), span, span, span)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = trace_model(request)
    assert traced.trace is not None, traced.diagnostics
    return traced.trace


@pytest.mark.parametrize("model", MODELS)
def test_no_aten_op_is_printed(model: str, tmp_path: Path) -> None:
    trace = trace_of(tmp_path, *MODELS[model])
    printed = [spell_call(op, trace, lambda value: f"v{value}") for op in trace.ops]
    assert len(printed) > 12
    assert not [text for text in printed if "torch.ops.aten" in text]
    assert not [text for text in printed if "meta" in text]
