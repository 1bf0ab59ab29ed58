"""Which recorded step is which step of a plan: by what each computes, whatever order it is issued in.

Two steps are the same if they run the same operator on the same data: on weights and inputs of the same name, and on
what steps that are the same have made. What remains is matched by operator and order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from streamsched.dsl.program import via
from streamsched.dsl.program.steps import Program, Step, StepKind
from streamsched.dsl.trace.model import NONE, StorageKind, Trace, refs

_Signature: TypeAlias = int
CALLER = "the caller"
"""The name of the steps that a caller of forward() stands for."""

_ALLOCATION = "allocation"
_WAITS = frozenset({"wait_tensor"})
_WEIGHTS = (StorageKind.PARAMETER, StorageKind.BUFFER)


@dataclass(frozen=True, slots=True)
class Part:
    """Some steps of a recording: a call of forward(), or of the module at `prefix` in it where `scoped`."""

    steps: tuple[int, ...]
    prefix: str = ""
    scoped: bool = False


def parts_of(recorded: Program, instances: Sequence[str]) -> list[Part]:
    """The calls of forward(), or of the modules in scope at the paths `instances`, in a recording."""
    found: dict[tuple[int, str], list[int]] = {}
    call = 0
    for index, step in enumerate(recorded.steps):
        call += step.name == CALLER and step.runs
        path = via.module(step)
        launches = step.name != CALLER and step.kind in (StepKind.LAUNCH, StepKind.ALLOC)
        if launches and (path or not instances):
            found.setdefault((call, path if instances else ""), []).append(index)
    return [Part(tuple(steps), f"{path}." if path else "", bool(instances)) for (_, path), steps in found.items()]


def match(recorded: Program, part: Part, planned: Program) -> dict[int, int]:
    """By step of the plan: the step of the recording that is the same; what is not there is left out."""
    assert planned.trace is not None
    trace = planned.trace
    passing = passing_ops(trace)
    mine = list(_signed(planned, _planned_names(planned), range(len(planned.steps)), passing, "", part.scoped))
    theirs = list(_signed(recorded, _recorded_names(recorded), part.steps, passing, part.prefix, part.scoped))
    found = dict(_paired([(sign, step) for step, _, sign in mine], [(sign, step) for step, _, sign in theirs]))
    taken = set(found.values())
    left = [(hash(name), step) for step, name, _ in mine if step not in found]
    free = [(hash(name), step) for step, name, _ in theirs if step not in taken]
    return found | dict(_paired(left, free, only_whole=True))


def passing_ops(trace: Trace) -> frozenset[str]:
    """The operators that may launch nothing: those whose result may be their argument, and waits for collectives."""
    found = {
        operator_of(op.target)
        for op in trace.ops
        if any(len(trace.values[value].storages) > 1 for value in refs(op.result))
    }
    return _WAITS | found


def operator_of(target: str) -> str:
    """An operator's name without namespace and overload: `aten.mm.default` is `mm`."""
    return target.split(".")[1] if target.count(".") >= 2 else target


def _paired(
    mine: Sequence[tuple[int, int]], theirs: Sequence[tuple[int, int]], only_whole: bool = False
) -> Iterator[tuple[int, int]]:
    """The steps with the same key, in order; with `only_whole` only where there are as many on both sides."""
    by_key: dict[int, list[int]] = {}
    for key, step in theirs:
        by_key.setdefault(key, []).append(step)
    wanted: dict[int, list[int]] = {}
    for key, step in mine:
        wanted.setdefault(key, []).append(step)
    for key, steps in wanted.items():
        others = by_key.get(key, [])
        if not only_whole or len(others) == len(steps):
            yield from zip(steps, others, strict=False)


def _planned_names(planned: Program) -> dict[int, str]:
    assert planned.trace is not None
    return {i: operator_of(planned.trace.ops[s.op].target) for i, s in enumerate(planned.steps) if s.op != NONE}


def _recorded_names(recorded: Program) -> dict[int, str]:
    return {i: step.name for i, step in enumerate(recorded.steps)}


def _signed(
    program: Program, names: dict[int, str], steps: Iterable[int], passing: frozenset[str], prefix: str, scoped: bool
) -> Iterator[tuple[int, str, _Signature]]:
    """The kernels and allocations among some steps, each with its operator and what it computes."""
    data = _Data(program, prefix, scoped)
    for index in steps:
        step = program.steps[index]
        if step.kind not in (StepKind.LAUNCH, StepKind.ALLOC):
            continue
        name = _ALLOCATION if step.kind is StepKind.ALLOC else names[index]
        if name in passing:
            data.passes(step)
        else:
            yield index, name, data.computes(name, step)


@dataclass
class _Data:
    """What each storage holds at a moment, as a number that is the same for the same computation."""

    program: Program
    prefix: str
    scoped: bool
    holds: dict[int, _Signature] = field(default_factory=dict)

    def computes(self, name: str, step: Step) -> _Signature:
        """What a step computes, and with that what the storages hold that it writes."""
        reads = sorted({self._held(storage) for storage in step.reads if self._is_memory(storage)})
        signature = hash((name, *reads))
        fresh = 0
        for storage in filter(self._is_memory, step.writes):
            if storage in self.holds or self.program.storages[storage].kind is not StorageKind.OP:
                self.holds[storage] = hash((signature, self._held(storage)))
            else:
                self.holds[storage] = hash((signature, fresh))
                fresh += 1
        return signature

    def passes(self, step: Step) -> None:
        """A step that hands on what it reads."""
        read = [storage for storage in step.reads if self._is_memory(storage)]
        for storage in step.writes if read else ():
            self.holds.setdefault(storage, self._held(read[0]))

    def _is_memory(self, storage: int) -> bool:
        return self.program.storages[storage].kind.is_memory

    def _held(self, storage: int) -> _Signature:
        if storage not in self.holds:
            self.holds[storage] = hash(self._origin(storage))
        return self.holds[storage]

    def _origin(self, storage: int) -> tuple[str, str]:
        """What a storage holds that no step has written yet."""
        known = self.program.storages[storage]
        name = plain_path(known.name)
        if known.kind in _WEIGHTS and name.startswith(self.prefix):
            return "weight", name.removeprefix(self.prefix)
        if known.kind is StorageKind.INPUT and not self.scoped:
            return "input", name
        return "given", ""


def plain_path(expression: str) -> str:
    """The path of a weight as `named_parameters()` has it, from the expression that reaches it."""
    inside = re.sub(r'^self\.|(?:self\.)?get_submodule\("(.*?)"\)', r"\1", expression)
    return re.sub(r"[\[\]'\"]+", ".", inside).replace("..", ".").strip(".")
