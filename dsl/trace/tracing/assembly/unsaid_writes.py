"""What operators write although their schemas do not say so."""

from __future__ import annotations

from typing import Any

_STATISTICS = ("running_mean", "running_var")
_LATENT_CACHES = ("kv_cache", "kr_cache")
_CACHES = ("k_cache", "v_cache")

_UNSAID: dict[str, tuple[str, tuple[str, ...]]] = {
    "aten::batch_norm": ("training", _STATISTICS),
    "aten::_batch_norm_impl_index": ("training", _STATISTICS),
    "aten::native_batch_norm": ("training", _STATISTICS),
    "aten::cudnn_batch_norm": ("training", _STATISTICS),
    "aten::miopen_batch_norm": ("training", _STATISTICS),
    "aten::instance_norm": ("use_input_stats", _STATISTICS),
    "aten::batch_norm_update_stats": ("", _STATISTICS),
    "aten::batch_norm_gather_stats": ("", _STATISTICS),
    "aten::batch_norm_gather_stats_with_counts": ("", _STATISTICS),
    "npu::batch_norm_gather_stats_update": ("", _STATISTICS),
    "npu::npu_kv_rmsnorm_rope_cache": ("", ("k_cache", "ckv_cache")),
    "npu::npu_mla_prolog": ("", _LATENT_CACHES),
    "npu::npu_mla_prolog_v2": ("", _LATENT_CACHES),
    "npu::npu_rope_quant_kvcache": ("", _CACHES),
    "npu::npu_dequant_rope_quant_kvcache": ("", _CACHES),
    "npu::npu_apply_rotary_pos_emb": ("", ("query", "key")),
}
"""By operator the argument that turns the writes on, empty where they always happen, and the parameters written.

Those of torch were tried, or read in its source where they need a device. Those of torch_npu are said to work in place
by its documentation, which recommends later operators whose schemas say it (`npu_mla_prolog_v3`).
"""


def may_write(operator: str) -> bool:
    """Whether an operator, by its name without overload, is one of these at all."""
    return operator in _UNSAID


def unsaid_writes(operator: str, values: dict[str, Any]) -> tuple[str, ...]:
    """The parameters that a call with arguments `values` writes without a word of the schema's."""
    switch, written = _UNSAID.get(operator, ("", ()))
    return written if not switch or values.get(switch) else ()
