"""Ascend NPUs, eagerly."""

from __future__ import annotations

from streamsched.codegen.targets.base import Target

TARGET = Target(
    name="npu",
    module="torch.npu",
    imports=("import torch_npu  # noqa: F401  (it adds torch.npu)",),
    limit="torch.npu.npugraph_ex.scope.limit_core_num",
)
