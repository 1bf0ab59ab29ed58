"""A program as the statements that will be printed, in order, with what each uses and binds.

Steps become units: kernels, folded module calls, syncs, ends of lifetimes. Views have no step: each is put right before
the first unit that needs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from streamsched.codegen.forward.folding import Folding
from streamsched.codegen.forward.objects import call_refs, objects, op_refs
from streamsched.codegen.forward.state import unfolded
from streamsched.codegen.forward.unit import NOWHERE, Origin, Unit, UnitKind
from streamsched.codegen.spell.spelling import uses
from streamsched.dsl.program import via
from streamsched.dsl.program.steps import DEFAULT, Program, Step, StepKind
from streamsched.dsl.trace.collectives import waits_of
from streamsched.dsl.trace.model import NONE, Op, OpKind, Trace, refs


def units(program: Program, trace: Trace, folding: Folding) -> tuple[Unit, ...]:
    """The statements of the forward, in order; the last is its return."""
    writer = _Writer(program, trace, folding, objects(trace))
    for step in program.steps:
        writer.add(step)
    return tuple(writer.printed)


_SYNCS = {StepKind.RECORD: UnitKind.RECORD, StepKind.WAIT: UnitKind.WAIT}


@dataclass
class _Writer:
    program: Program
    trace: Trace
    folding: Folding
    objects: tuple[int, ...]
    printed: list[Unit] = field(default_factory=list)
    done: set[int] = field(default_factory=set)  # ops and views that are printed already
    begun: set[int] = field(default_factory=set)  # calls that are printed already
    bound: set[int] = field(default_factory=set)  # objects that are there already
    holders: dict[int, list[int]] = field(default_factory=dict)  # by storage, the objects in it
    left: int = 0  # how many assignments are dealt with

    def __post_init__(self) -> None:
        self.assignments = unfolded(self.trace, frozenset(self.folding.call_of) - {NONE})

    def add(self, step: Step) -> None:
        """Print one step."""
        match step.kind:
            case StepKind.LAUNCH | StepKind.ALLOC:
                self._run(step.op, step.issuer, self._origin(step))
            case StepKind.RECORD | StepKind.WAIT if not via.is_implicit(step):
                self.printed.append(Unit(_SYNCS[step.kind], step.stream, event=step.event))
            case StepKind.RECORD_STREAM:
                self._record_stream(step)
            case StepKind.FREE:
                self.printed.append(Unit(UnitKind.FREE, NONE, storage=step.storage))
            case StepKind.EXIT:
                self._assign(len(self.trace.ops))
                used = self._need(refs(self.trace.result), DEFAULT, NOWHERE)
                self.printed.append(Unit(UnitKind.RETURN, DEFAULT, uses=used, result=self.trace.result))

    def _origin(self, step: Step) -> Origin:
        op = self.trace.ops[step.op]
        return Origin(step.groups, op.statement, op.visit)

    def _run(self, op: int, stream: int, origin: Origin) -> None:
        """Print an op, or the module call in its place; a call is printed once, at its first kernel."""
        call = self.folding.call_of[op]
        if call == NONE:
            self.done.add(op)
            node = self.trace.ops[op]
            used = self._need((*uses(node, self.trace), *self._awaited.get(op, ())), stream, origin)
            here = replace(origin, contexts=node.contexts)
            self._print(Unit(UnitKind.OP, stream, op, uses=used, result=node.result, runs=_runs(node), origin=here))
        elif call not in self.begun:
            self.begun.add(call)
            made = self.trace.calls[call]
            self._assign(made.begin)
            used = self._need(call_refs(made), stream, origin)
            ops = self.trace.ops[made.begin : made.end]
            here = replace(origin, contexts=_common_contexts(ops))
            runs = any(map(_runs, ops))
            self._print(Unit(UnitKind.CALL, stream, call=call, uses=used, result=made.result, runs=runs, origin=here))

    def _assign(self, op: int) -> None:
        """Print the assignments that must be there before op `op`."""
        while self.left < len(self.assignments) and self.assignments[self.left].until <= op:
            assignment = self.assignments[self.left]
            used = self._need(refs(assignment.value), DEFAULT, NOWHERE)
            unit = Unit(UnitKind.ASSIGN, DEFAULT, place=assignment.target, uses=used, result=assignment.value)
            self.printed.append(unit)
            self.left += 1

    def _need(self, values: Iterable[int], stream: int, origin: Origin) -> tuple[int, ...]:
        """The objects of `values`, after printing the views among them that are not printed yet."""
        needed: dict[int, None] = {}
        for value in values:
            producer = self.trace.values[value].producer
            if producer != NONE and producer not in self.done and not _runs(self.trace.ops[producer]):
                self._view(producer, stream, origin)
            needed[self.objects[value]] = None
        return tuple(needed)

    def _view(self, op: int, stream: int, origin: Origin) -> None:
        """Print a view; one that gives back its argument as it is (dropout in evaluation mode) needs no line."""
        node = self.trace.ops[op]
        same = all(self.trace.values[value].same_object != NONE for value in refs(node.result))
        if same and not node.target.split(".")[1].endswith("_") and self.folding.call_of[op] == NONE:
            self.done.add(op)
            self._need(uses(node, self.trace), stream, origin)
        else:
            self._run(op, stream, origin)

    def _print(self, unit: Unit) -> None:
        """Append `unit`, with the objects that come to be there."""
        made = dict.fromkeys(self.objects[value] for value in refs(unit.result))
        fresh = tuple(o for o in made if o not in self.bound and self.trace.values[o].producer != NONE)
        self.bound.update(fresh)
        for obj in fresh:
            for storage in self.trace.values[obj].storages:
                self.holders.setdefault(storage, []).append(obj)
        self.printed.append(replace(unit, binds=fresh))

    def _record_stream(self, step: Step) -> None:
        """Print a record_stream on the object that lies in the storage with the fewest others."""
        held = [*self._given.get(step.storage, ()), *self.holders.get(step.storage, ())]
        if held:
            holder = min(held, key=lambda obj: len(self.trace.values[obj].storages))
            on = DEFAULT if step.stream == DEFAULT else NONE
            unit = Unit(UnitKind.RECORD_STREAM, on, storage=step.storage, user=step.stream, uses=(holder,))
            self.printed.append(unit)

    @cached_property
    def _awaited(self) -> dict[int, tuple[int, ...]]:
        """By op: the operands of the collectives that it waits for, whose names must live until then."""
        found: dict[int, tuple[int, ...]] = {}
        for collective, waits in waits_of(self.trace).items():
            for wait in waits:
                found[wait] = (*found.get(wait, ()), *op_refs(self.trace.ops[collective]))
        return found

    @cached_property
    def _given(self) -> dict[int, list[int]]:
        """By storage, the values in it that no op makes."""
        found: dict[int, list[int]] = {}
        for index, value in enumerate(self.trace.values):
            if value.producer == NONE:
                for storage in value.storages:
                    found.setdefault(storage, []).append(index)
        return found


def _runs(op: Op) -> bool:
    return op.kind is not OpKind.VIEW


def _common_contexts(ops: Sequence[Op]) -> tuple[str, ...]:
    """The contexts around all of `ops`."""
    common = ops[0].contexts
    for op in ops:
        common = common_prefix(common, op.contexts)
    return common


def common_prefix(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    """What both start with."""
    same = 0
    while same < min(len(first), len(second)) and first[same] == second[same]:
        same += 1
    return first[:same]
