"""One module per target: what code is generated for."""

from __future__ import annotations

from streamsched.codegen.targets import cpu, cuda, npu, npugraph_ex
from streamsched.codegen.targets.base import Target

TARGETS: dict[str, Target] = {module.TARGET.name: module.TARGET for module in (npugraph_ex, npu, cuda, cpu)}
"""Every target by name, the default first."""

__all__ = ["TARGETS", "Target"]
