"""The ops that hold cores while they wait for others, and how many.

A collective waits for the other ranks. An op in batch mode waits until all its cores are free at once, and keeps new
ops from them meanwhile. Any other kernel takes the cores that there are, and gives them back whatever others do.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import NamedTuple

from streamsched.dsl.devices.device import Device
from streamsched.dsl.program.steps import Holding, Program, Step, Stream
from streamsched.dsl.trace.model import NONE, StorageKind

ALL = 1 << 20
"""All cores of a device that is not known: more than any limit."""


class Unit(enum.Enum):
    """A kind of cores."""

    CUBE = "cube"
    VECTOR = "vector"


class Holder(NamedTuple):
    """A step that holds cores while it waits; `collective` tells that it waits for other ranks."""

    step: int
    collective: bool
    aic: int
    aiv: int

    def cores(self, unit: Unit) -> int:
        """How many it holds of one kind."""
        return self.aic if unit is Unit.CUBE else self.aiv


_BOTH, _VECTOR = frozenset(Unit), frozenset({Unit.VECTOR})

_COLLECTIVES = {
    # HCCL's own run on vector cores: torchair, docs/zh/npugraph_ex/advanced/limit_cores.md.
    "all_reduce": _VECTOR,
    "all_reduce_": _VECTOR,
    "all_gather_into_tensor": _VECTOR,
    "reduce_scatter_tensor": _VECTOR,
    "all_to_all_single": _VECTOR,
    "broadcast": _VECTOR,
    # Fused with no product: ops-transformer, the tiling of mc2/moe_distribute_dispatch and _combine.
    "npu_moe_distribute_dispatch": _VECTOR,
    "npu_moe_distribute_dispatch_v2": _VECTOR,
    "npu_moe_distribute_combine": _VECTOR,
    "npu_moe_distribute_combine_v2": _VECTOR,
    "npu_moe_distribute_combine_add_rms_norm": _VECTOR,
    "npu_attention_to_ffn": _VECTOR,
    "npu_ffn_to_attention": _VECTOR,
    # Fused with a product.
    "npu_mm_all_reduce_base": _BOTH,
    "npu_mm_reduce_scatter_base": _BOTH,
    "npu_quant_mm_reduce_scatter": _BOTH,
    "npu_all_gather_base_mm": _BOTH,
    "npu_all_gather_quant_mm": _BOTH,
    "npu_all_to_all_matmul": _BOTH,
    "npu_all_to_all_quant_matmul": _BOTH,
    "npu_matmul_all_to_all": _BOTH,
    "npu_quant_matmul_all_to_all": _BOTH,
    "npu_alltoallv_gmm": _BOTH,
    "npu_alltoallv_quant_gmm": _BOTH,
    "npu_gmm_alltoallv": _BOTH,
    "npu_quant_gmm_alltoallv": _BOTH,
}
"""What communicates, by the op's name, with the kinds of cores that it holds."""

_BATCH = {
    # torchair, docs/zh/appendix/appendix/core_limit.md: NonZero starts on all vector cores at once.
    "nonzero": _VECTOR,
    "nonzero_numpy": _VECTOR,
    "argwhere": _VECTOR,
    # ops-transformer, the tiling of lightning_indexer: SetScheduleMode(1).
    "npu_lightning_indexer": _BOTH,
}
"""What starts only when all its cores are free, by the op's name, with their kinds."""


def holders(program: Program) -> tuple[Holder, ...]:
    """The steps of `program` that hold cores, in issue order."""
    groups = {i for i, storage in enumerate(program.storages) if storage.kind is StorageKind.PROCESS_GROUP}
    if not (groups or program.holdings or _known(program)):
        return ()
    declared = {holding.group: holding for holding in reversed(program.holdings)}
    return tuple(_holders(program, groups, declared))


def _known(program: Program) -> bool:
    """Whether an op of the program is in one of the tables."""
    if program.trace is not None:
        targets = {op.target for op in program.trace.ops}
        names = {target.split(".")[1] for target in targets if "." in target}
    else:
        names = {step.name for step in program.steps}
    return not (names.isdisjoint(_COLLECTIVES) and names.isdisjoint(_BATCH))


def _holders(program: Program, groups: set[int], declared: dict[int, Holding]) -> Iterator[Holder]:
    for index, step in enumerate(program.steps):
        if not step.runs or step.storage != NONE:
            continue
        name = _name(program, step)
        said = next((declared[group] for group in step.groups if group in declared), None)
        begins = not groups.isdisjoint(step.writes)
        if said is None and not begins and name not in _COLLECTIVES and name not in _BATCH:
            continue
        collective = begins or name in _COLLECTIVES or (said is not None and said.collective)
        known = _COLLECTIVES.get(name) or _BATCH.get(name) or _BOTH
        limit, device = program.streams[step.issuer], program.device
        yield Holder(
            index,
            collective,
            _cores(Unit.CUBE, known, said, limit, device),
            _cores(Unit.VECTOR, known, said, limit, device),
        )


def _name(program: Program, step: Step) -> str:
    """The op's name without namespace and overload."""
    if program.trace is None or step.op == NONE:
        return step.name
    parts = program.trace.ops[step.op].target.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


def _cores(unit: Unit, known: frozenset[Unit], said: Holding | None, limit: Stream, device: Device | None) -> int:
    """How many cores of a kind an op holds: what was said of it, else all; never more than its stream may use."""
    cube = unit is Unit.CUBE
    if said is not None and (said.aic, said.aiv) != (None, None):
        most = (said.aic if cube else said.aiv) or 0
    elif unit in known:
        most = ALL if device is None else device.aic if cube else device.aiv
    else:
        return 0
    allowed = limit.aic if cube else limit.aiv
    return most if allowed is None else min(most, allowed)
