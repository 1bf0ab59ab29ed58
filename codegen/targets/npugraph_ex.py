"""Ascend NPUs, the whole model captured as one graph by torch_npu's npugraph_ex."""

from __future__ import annotations

from streamsched.codegen.targets import npu
from streamsched.codegen.targets.base import Target

TARGET = Target(
    name="npugraph_ex",
    module=npu.TARGET.module,
    imports=npu.TARGET.imports,
    limit=npu.TARGET.limit,
    compile="npugraph_ex",
)
