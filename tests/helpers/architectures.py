"""Architectures of transformers, each shrunk to one layer of a few dozen numbers, and what is scheduled of them."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field

IDS = "input_ids: i64[2, 8]"
IMAGE = "pixel_values: f32[2, 3, 32, 32]"


@dataclass(frozen=True)
class Architecture:
    """A model built from `config(**sizes)`, and the selector of what is placed on a side stream.

    `scope` is the glob of the modules whose forward() is generated, "" for the whole model. `leaf` is the statement
    without which it does not trace, `why` what the table says of a trace that fails.
    """

    name: str
    config: str
    sizes: dict[str, object]
    side: str
    scope: str = ""
    model: str = "AutoModelForCausalLM"
    input: str = IDS
    leaf: str = ""
    shape: str = ""  # the function that the leaf statement names
    why: str = ""
    often: bool = field(default=False, kw_only=True)  # whether every run of the tests includes it

    def source(self) -> str:
        """The text of a module with a function `build` that makes it."""
        build = "transformers.{}.from_config(config)" if self.model.startswith("Auto") else "transformers.{}(config)"
        sizes = "".join(f"        {name}={value!r},\n" for name, value in self.sizes.items())
        return (
            "import transformers\n\n\n"
            "def build():\n"
            f"    config = transformers.{self.config}(\n{sizes}    )\n"
            f"    return {build.format(self.model)}\n"
            f"{self.shape}"
        )

    def schedule(self, leaf: str = "") -> str:
        """The schedule, with a `leaf` statement or without one."""
        scope = f'scope "{self.scope}"\n' if self.scope else ""
        head = f'schedule block\nmodel "model.py:build"\n{scope}{leaf}\ninput {self.input}\n'
        return head + textwrap.dedent(f"""\
            target cpu
            trace eager
            sync auto
            stream side
            group branch = {self.side}
            branch on side
            """)


LAYER = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 48}
TEXT = {**LAYER, "vocab_size": 64, "max_position_embeddings": 64}
VISION = {**LAYER, "image_size": 32, "patch_size": 8}
LANGUAGE = {**TEXT, "num_key_value_heads": 2, "use_cache": False, "pad_token_id": 0}
SMALL = {"vocab_size": 64, "use_cache": False}
EXPERTS = {"dtype": "bfloat16", "num_experts_per_tok": 2, "moe_intermediate_size": 16}
T5 = {**SMALL, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 1, "num_heads": 4}
LATENT = {"kv_lora_rank": 16, "q_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8}
BART = {
    f"{side}_{name}": size
    for side in ("encoder", "decoder")
    for name, size in {"layers": 1, "attention_heads": 4, "ffn_dim": 48}.items()
}
GEMMA = {
    **LANGUAGE,
    "num_hidden_layers": 2,
    "head_dim": 8,
    "sliding_window": 4,
    "layer_types": ["sliding_attention", "full_attention"],
}

REFORMER = {
    **SMALL,
    "hidden_size": 32,
    "num_attention_heads": 4,
    "attention_head_size": 8,
    "feed_forward_size": 48,
    "axial_pos_embds": False,
    "max_position_embeddings": 64,
    "is_decoder": False,
}
KEYS_AND_VALUES = 'module "self_attn.{k,v}_proj"'

ARCHITECTURES = (
    Architecture(
        "Mixtral",
        "MixtralConfig",
        {**LANGUAGE, **EXPERTS, "num_local_experts": 4},
        KEYS_AND_VALUES,
        "model.layers.*",
        often=True,
    ),
    Architecture(
        "Gemma 3, all layers",
        "Gemma3TextConfig",
        GEMMA,
        'module "mlp.up_proj"',
        "model.layers.*",
        why="the model calls its full attention without a mask, its sliding attention with one",
    ),
    Architecture(
        "Gemma 3, sliding attention",
        "Gemma3TextConfig",
        GEMMA,
        'module "mlp.up_proj"',
        "model.layers.0",
        often=True,
    ),
    Architecture(
        "GPT-2",
        "GPT2Config",
        {**SMALL, "n_embd": 32, "n_layer": 1, "n_head": 4, "n_positions": 64},
        'module "transformer.wpe"',
    ),
    Architecture("BERT", "BertConfig", TEXT, 'module "attention.self.value"', "encoder.layer.*", "AutoModel"),
    Architecture("T5, its encoder", "T5Config", T5, 'module "**.SelfAttention.v"', "", "T5EncoderModel"),
    Architecture("Qwen2", "Qwen2Config", LANGUAGE, 'module "mlp.up_proj"', "model.layers.*"),
    Architecture("Phi-3", "Phi3Config", LANGUAGE, 'module "model.rotary_emb"'),
    Architecture(
        "OLMo 2", "Olmo2Config", LANGUAGE, 'module "self_attn.k_proj" | module "self_attn.k_norm"', "model.layers.*"
    ),
    Architecture("GPT-NeoX", "GPTNeoXConfig", {**TEXT, "use_cache": False}, 'module "mlp"', "gpt_neox.layers.*"),
    Architecture("Falcon", "FalconConfig", {**SMALL, **TEXT}, 'module "mlp"', "transformer.h.*"),
    Architecture("Cohere", "CohereConfig", LANGUAGE, 'module "mlp"', "model.layers.*"),
    Architecture(
        "Granite-MoE",
        "GraniteMoeConfig",
        {**LANGUAGE, **EXPERTS, "num_local_experts": 4},
        KEYS_AND_VALUES,
        "model.layers.*",
    ),
    Architecture(
        "GLM-4-MoE",
        "Glm4MoeConfig",
        {**LANGUAGE, **EXPERTS, "n_routed_experts": 4, "first_k_dense_replace": 0, "head_dim": 8},
        'module "shared_experts"',
        "model.layers.*.mlp",
        often=True,
    ),
    Architecture(
        "Qwen3-Next, linear attention",
        "Qwen3NextConfig",
        {
            **LANGUAGE,
            **EXPERTS,
            "num_experts": 4,
            "shared_expert_intermediate_size": 16,
            "layer_types": ["linear_attention"],
            "linear_num_key_heads": 2,
            "linear_num_value_heads": 4,
            "linear_key_head_dim": 8,
            "linear_value_head_dim": 8,
        },
        'module "mlp.shared_expert"',
        "model.layers.*",
    ),
    Architecture(
        "MiniMax, lightning attention",
        "MiniMaxConfig",
        {
            **LANGUAGE,
            **EXPERTS,
            "num_local_experts": 4,
            "head_dim": 8,
            "block_size": 4,
            "layer_types": ["linear_attention"],
        },
        'module "self_attn.output_gate"',
        "model.layers.*",
    ),
    Architecture(
        "GPT-OSS",
        "GptOssConfig",
        {**LANGUAGE, **EXPERTS, "num_local_experts": 4, "head_dim": 8, "sliding_window": 4},
        KEYS_AND_VALUES,
        "model.layers.*",
    ),
    Architecture(
        "Llama 4",
        "Llama4TextConfig",
        {
            **LANGUAGE,
            **EXPERTS,
            "num_local_experts": 4,
            "head_dim": 8,
            "intermediate_size_mlp": 48,
            "attention_chunk_size": 4,
        },
        'module "shared_expert"',
        "model.layers.*.feed_forward",
    ),
    Architecture(
        "Mamba",
        "MambaConfig",
        {**SMALL, "hidden_size": 32, "num_hidden_layers": 1, "state_size": 8},
        'value "A"',
        "backbone.layers.*.mixer",
    ),
    Architecture(
        "Falcon-H1, Mamba beside attention",
        "FalconH1Config",
        {
            **LANGUAGE,
            "head_dim": 8,
            "mamba_d_ssm": 32,
            "mamba_n_heads": 4,
            "mamba_d_head": 8,
            "mamba_d_state": 8,
            "mamba_n_groups": 1,
            "mamba_chunk_size": 4,
        },
        'module "mamba"',
        "model.layers.*",
    ),
    Architecture(
        "RecurrentGemma",
        "RecurrentGemmaConfig",
        {**LANGUAGE, "head_dim": 8, "lru_width": 32, "attention_window_size": 8},
        'module "temporal_block.linear_y"',
        "model.layers.*",
    ),
    Architecture(
        "CLIP, text beside image",
        "CLIPConfig",
        {"projection_dim": 16, "text_config": {**TEXT, "eos_token_id": 2}, "vision_config": VISION},
        'module "text_model"',
        "",
        "AutoModel",
        f"{IDS}, {IMAGE}",
        often=True,
    ),
    Architecture(
        "BART, decoder beside encoder",
        "BartConfig",
        {**SMALL, **BART, "d_model": 32, "max_position_embeddings": 64},
        'module "decoder.layers.0.self_attn"',
        "",
        "AutoModel",
        "input_ids, decoder_input_ids: i64[2, 8]",
        often=True,
    ),
    Architecture(
        "DeBERTa-v2",
        "DebertaV2Config",
        {**TEXT, "relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_buckets": 8},
        'module "attention.self.value_proj"',
        "encoder.layer.*",
        "AutoModel",
    ),
    Architecture(
        "Swin",
        "SwinConfig",
        {"image_size": 32, "patch_size": 4, "embed_dim": 16, "depths": [1], "num_heads": [2], "window_size": 4},
        'module "**.attention.v_proj"',
        "",
        "AutoModel",
        IMAGE,
    ),
    Architecture("DINOv2", "Dinov2Config", VISION, 'module "**.attention.v_proj"', "", "AutoModel", IMAGE),
    Architecture(
        "Wav2Vec2",
        "Wav2Vec2Config",
        {
            **LAYER,
            "conv_dim": (8, 8),
            "conv_stride": (4, 4),
            "conv_kernel": (8, 4),
            "num_feat_extract_layers": 2,
            "num_conv_pos_embeddings": 4,
            "num_conv_pos_embedding_groups": 2,
        },
        'module "attention.{k,v}_proj"',
        "encoder.layers.*",
        "AutoModel",
        "input_values: f32[2, 400]",
    ),
    Architecture(
        "Longformer",
        "LongformerConfig",
        {**TEXT, "attention_window": [4]},
        'module "**.attention.output"',
        "",
        "AutoModel",
        leaf='leaf "encoder.layer.*.attention.self" from "model.py:attended"',
        shape="\n\ndef attended(hidden_states, *args, **options):\n    return (hidden_states.clone(),)\n",
        why="it looks which tokens attend globally",
        often=True,
    ),
    Architecture(
        "LongCat-Flash",
        "LongcatFlashConfig",
        {
            **LANGUAGE,
            **LATENT,
            "num_hidden_layers": 2,
            "num_key_value_heads": 4,
            "num_layers": 1,
            "ffn_hidden_size": 48,
            "expert_ffn_hidden_size": 16,
            "n_routed_experts": 4,
            "zero_expert_num": 2,
            "moe_topk": 2,
            "head_dim": 8,
        },
        'module "mlp"',  # the layer's second half does not need it
        "model.layers.*",
        leaf='leaf "model.layers.*.mlp.experts" from "torch:empty_like"',
        why="it loops over the experts that were hit",
        often=True,
    ),
    Architecture(
        "Reformer, hashed attention",
        "ReformerConfig",
        {**REFORMER, "attn_layers": ["lsh"], "num_buckets": 2, "lsh_attn_chunk_length": 4},
        'module "**.feed_forward"',
        model="AutoModel",
    ),
    Architecture(
        "Reformer, with its cache",
        "ReformerConfig",
        {**REFORMER, "use_cache": True, "attn_layers": ["local"], "local_attn_chunk_length": 4},
        'module "**.feed_forward"',
        model="AutoModel",
        why="its class returns a cache of its own kind",
        often=True,
    ),
    Architecture(
        "BigBird, block-sparse attention",
        "BigBirdConfig",
        {**TEXT, "block_size": 2, "num_random_blocks": 1},
        'module "attention.self.value"',
        "encoder.layer.*",
        "AutoModel",
        "input_ids: i64[2, 32]",
    ),
    Architecture(
        "XLNet",
        "XLNetConfig",
        {"vocab_size": 64, "d_model": 32, "n_layer": 1, "n_head": 4, "d_inner": 48, "use_mems_eval": False},
        'module "transformer.word_embedding"',
    ),
    Architecture(
        "Switch Transformers",
        "SwitchTransformersConfig",
        {
            **T5,
            "num_decoder_layers": 1,
            "num_experts": 4,
            "num_sparse_encoder_layers": 1,
            "num_sparse_decoder_layers": 1,
        },
        'module "**.EncDecAttention.{k,v}"',
        "",
        "AutoModel",
        "input_ids, decoder_input_ids: i64[2, 8]",
        why="its router converts its own weights in forward()",
        often=True,
    ),
    Architecture(
        "CPM-Ant",
        "CpmAntConfig",
        {
            **SMALL,
            "hidden_size": 32,
            "num_hidden_layers": 1,
            "num_attention_heads": 4,
            "dim_head": 8,
            "dim_ff": 48,
            "prompt_length": 4,
            "prompt_types": 4,
        },
        'module "**.project_v"',
        why="it makes a tensor of Python's numbers on the device of its input",
        often=True,
    ),
)
