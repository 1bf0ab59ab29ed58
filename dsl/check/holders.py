"""The ops that hold cores while they wait for others, and how many.

A collective waits for the other ranks. An op in batch mode waits until all its cores are free at once, and keeps new
ops from them meanwhile. Any other kernel takes the cores that there are, and gives them back whatever others do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from streamsched.dsl.devices.cores import BATCH, BOTH, COLLECTIVES, Unit, op_name
from streamsched.dsl.devices.device import Device
from streamsched.dsl.program.said import said_of
from streamsched.dsl.program.steps import Holding, Program, Step, Stream
from streamsched.dsl.trace.model import NONE, StorageKind

ALL = 1 << 20
"""All cores of a device that is not known: more than any limit."""


class Holder(NamedTuple):
    """A step that holds cores while it waits; `collective` tells that it waits for other ranks."""

    step: int
    collective: bool
    aic: int
    aiv: int

    def cores(self, unit: Unit) -> int:
        """How many it holds of one kind."""
        return self.aic if unit is Unit.CUBE else self.aiv


def holders(program: Program) -> tuple[Holder, ...]:
    """The steps of `program` that hold cores, in issue order."""
    groups = {i for i, storage in enumerate(program.storages) if storage.kind is StorageKind.PROCESS_GROUP}
    if not (groups or program.holdings or _known(program)):
        return ()
    return tuple(_holders(program, groups))


def _known(program: Program) -> bool:
    """Whether an op of the program is in one of the tables."""
    if program.trace is not None:
        names = {op_name(target) for target in {op.target for op in program.trace.ops}}
    else:
        names = {step.name for step in program.steps}
    return not (names.isdisjoint(COLLECTIVES) and names.isdisjoint(BATCH))


def _holders(program: Program, groups: set[int]) -> Iterator[Holder]:
    running = {index: step for index, step in enumerate(program.steps) if step.runs and step.storage == NONE}
    names = {index: _name(program, step) for index, step in running.items()}
    begins = {i for i, step in running.items() if names[i] in COLLECTIVES or not groups.isdisjoint(step.writes)}
    members = {index: step.groups for index, step in running.items()}
    said = said_of(members, program.holdings, begins, lambda index: _target(program, running[index]))
    for index, step in running.items():
        name, holding = names[index], said.get(index)
        if holding is None and index not in begins and name not in BATCH:
            continue
        collective = index in begins or (holding is not None and holding.collective)
        known = COLLECTIVES.get(name) or BATCH.get(name) or BOTH
        limit, device = program.streams[step.issuer], program.device
        yield Holder(
            index,
            collective,
            _cores(Unit.CUBE, known, holding, limit, device),
            _cores(Unit.VECTOR, known, holding, limit, device),
        )


def _name(program: Program, step: Step) -> str:
    """The op's name without namespace and overload."""
    return step.name if program.trace is None or step.op == NONE else op_name(_target(program, step))


def _target(program: Program, step: Step) -> str:
    """The operator of a step; its name where no trace knows it."""
    return step.name if program.trace is None or step.op == NONE else program.trace.ops[step.op].target


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
