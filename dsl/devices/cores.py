"""The ops that are known to hold cores while they wait for others, by name, with the kinds of cores that they hold."""

from __future__ import annotations

import enum


class Unit(enum.Enum):
    """A kind of cores."""

    CUBE = "cube"
    VECTOR = "vector"


BOTH, VECTOR = frozenset(Unit), frozenset({Unit.VECTOR})

COLLECTIVES = {
    # HCCL's own run on vector cores: torchair, docs/zh/npugraph_ex/advanced/limit_cores.md.
    "all_reduce": VECTOR,
    "all_reduce_": VECTOR,
    "all_gather_into_tensor": VECTOR,
    "reduce_scatter_tensor": VECTOR,
    "all_to_all_single": VECTOR,
    "broadcast": VECTOR,
    # The same as torch.distributed issues them.
    "allreduce_": VECTOR,
    "_allgather_base_": VECTOR,
    "allgather_": VECTOR,
    "_reduce_scatter_base_": VECTOR,
    "reduce_scatter_": VECTOR,
    "alltoall_base_": VECTOR,
    "alltoall_": VECTOR,
    "broadcast_": VECTOR,
    # Fused with no product: ops-transformer, the tiling of mc2/moe_distribute_dispatch and _combine.
    "npu_moe_distribute_dispatch": VECTOR,
    "npu_moe_distribute_dispatch_v2": VECTOR,
    "npu_moe_distribute_combine": VECTOR,
    "npu_moe_distribute_combine_v2": VECTOR,
    "npu_moe_distribute_combine_add_rms_norm": VECTOR,
    "npu_attention_to_ffn": VECTOR,
    "npu_ffn_to_attention": VECTOR,
    # Fused with a product.
    "npu_mm_all_reduce_base": BOTH,
    "npu_mm_reduce_scatter_base": BOTH,
    "npu_quant_mm_reduce_scatter": BOTH,
    "npu_all_gather_base_mm": BOTH,
    "npu_all_gather_quant_mm": BOTH,
    "npu_all_to_all_matmul": BOTH,
    "npu_all_to_all_quant_matmul": BOTH,
    "npu_matmul_all_to_all": BOTH,
    "npu_quant_matmul_all_to_all": BOTH,
    "npu_alltoallv_gmm": BOTH,
    "npu_alltoallv_quant_gmm": BOTH,
    "npu_gmm_alltoallv": BOTH,
    "npu_quant_gmm_alltoallv": BOTH,
}
"""What communicates, by the op's name, with the kinds of cores that it holds."""

BATCH = {
    # torchair, docs/zh/appendix/appendix/core_limit.md: NonZero starts on all vector cores at once.
    "nonzero": VECTOR,
    "nonzero_numpy": VECTOR,
    "argwhere": VECTOR,
    # ops-transformer, the tiling of lightning_indexer: SetScheduleMode(1).
    "npu_lightning_indexer": BOTH,
}
"""What starts only when all its cores are free, by the op's name, with their kinds."""


def op_name(target: str) -> str:
    """The op's name without namespace and overload: `mm` of `aten.mm.default`."""
    parts = target.split(".")
    return parts[1] if len(parts) > 1 else parts[0]
