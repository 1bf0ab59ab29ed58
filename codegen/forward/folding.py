"""Which module calls are printed as calls.

A call is printed as a call where its kernels are one stretch of one stream that no sync cuts, and where nothing made
inside is seen outside but its result. Any other call is unfolded by one level: its ops, and the calls in it.
A leaf is one op, and always printed as a call.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

from streamsched.codegen.forward.objects import call_refs, objects, op_refs
from streamsched.codegen.forward.state import State
from streamsched.codegen.forward.trees import printable, target
from streamsched.dsl.program import via
from streamsched.dsl.program.steps import Program, StepKind
from streamsched.dsl.trace.collectives import WAIT
from streamsched.dsl.trace.model import LEAF, NONE, ModuleCall, Trace, refs


@dataclass(frozen=True, slots=True)
class Folding:
    """For each op, the module call that is printed in its place, or NONE where the op itself is printed."""

    call_of: tuple[int, ...]


def fold(program: Program, trace: Trace) -> Folding:
    """The outermost calls that can be printed as calls, and every leaf; the scope's own is what is being printed, so
    never."""
    judge = _Judge(program, trace)
    inside: list[list[int]] = [[] for _ in trace.calls]
    for index, call in enumerate(trace.calls):
        if call.parent != NONE:
            inside[call.parent].append(index)
    leaves = {op.call for op in trace.ops if op.target == LEAF}
    call_of = [NONE] * len(trace.ops)
    pending = list(inside[0])
    while pending:
        index = pending.pop()
        call = trace.calls[index]
        if index in leaves or judge.foldable(call):
            call_of[call.begin : call.end] = [index] * (call.end - call.begin)
        else:
            pending += inside[index]
    return Folding(tuple(call_of))


@dataclass(frozen=True)
class _Judge:
    program: Program
    trace: Trace

    def foldable(self, call: ModuleCall) -> bool:
        """Whether `call` can be printed as a call. A module's own hooks run outside the call that was traced."""
        return (
            call.begin < call.end
            and not call.hooked
            and call.accessor != ""
            and self._one_stretch(call)
            and self._timely(call)
            and self._printable(call)
            and self._closed(call)
            and not self._returns_pending(call)
            and (not self._state.concerns(call) or (self._state.allows(call) and self._in_program_order(call)))
        )

    @cached_property
    def _objects(self) -> tuple[int, ...]:
        return objects(self.trace)

    @cached_property
    def _state(self) -> State:
        return State(self.trace)

    @cached_property
    def _given(self) -> list[tuple[int, ...]]:
        """By op: the values that it is given."""
        return [tuple(op_refs(op)) for op in self.trace.ops]

    @cached_property
    def _places(self) -> dict[int, tuple[int, int, int]]:
        """By op: its step, its place among the steps that run, its stream."""
        runs = [(index, step) for index, step in enumerate(self.program.steps) if step.op != NONE]
        return {step.op: (index, place, step.issuer) for place, (index, step) in enumerate(runs)}

    @cached_property
    def _syncs(self) -> dict[int, list[int]]:
        """The records and waits of each stream."""
        found: dict[int, list[int]] = defaultdict(list)
        for index, step in enumerate(self.program.steps):
            if step.kind in (StepKind.RECORD, StepKind.WAIT) and not via.is_implicit(step):
                found[step.stream].append(index)
        return found

    @cached_property
    def _last_use(self) -> list[int]:
        """For each value, the last op that uses it, a call's arguments included; past the end if it is returned."""
        last = [NONE] * len(self.trace.values)
        for index, given in enumerate(self._given):
            for value in given:
                last[value] = index
        for call in self.trace.calls:
            for value in call_refs(call) if call.begin < call.end else ():
                last[value] = max(last[value], call.begin)
        for value in refs(self.trace.result):
            last[value] = len(self.trace.ops)
        return last

    @cached_property
    def _made(self) -> list[list[int]]:
        """The values that each op makes."""
        found: list[list[int]] = [[] for _ in self.trace.ops]
        for index, value in enumerate(self.trace.values):
            if value.producer != NONE:
                found[value.producer].append(index)
        return found

    def _one_stretch(self, call: ModuleCall) -> bool:
        """Its kernels follow one another in program order on one stream; no sync stands between the first and last."""
        places = [self._places[op] for op in range(call.begin, call.end) if op in self._places]
        if not places:  # nothing runs: what is needed of it is printed where it is needed
            return False
        (first, start, stream), (last, _, _) = places[0], places[-1]
        if any(place != start + i or on != stream for i, (_, place, on) in enumerate(places)):
            return False
        syncs = self._syncs[stream]
        return bisect_right(syncs, first) == bisect_right(syncs, last)

    def _timely(self, call: ModuleCall) -> bool:
        """All that goes in is there before its first kernel, and nothing that comes out is needed earlier."""
        made = [value for op in range(call.begin, call.end) for value in self._made[op]]
        first = min((self._first_use[value] for value in made), default=len(self.trace.ops))
        start = next((self._places[op][1] for op in range(call.begin, call.end) if op in self._places), first)
        return start <= first and all(self._ready[value] < start for value in call_refs(call))

    @cached_property
    def _ready(self) -> list[int]:
        """For each value, the place of the last kernel or allocation that must be issued before it is there."""
        ready = [NONE] * len(self.trace.values)
        for index, given in enumerate(self._given):
            needed = max((ready[value] for value in given), default=NONE)
            for value in self._made[index]:
                ready[value] = self._places[index][1] if index in self._places else needed
        return ready

    @cached_property
    def _first_use(self) -> list[int]:
        """For each value, the place of the first kernel that uses it or a view of it."""
        first = [len(self.trace.ops)] * len(self.trace.values)
        for index in range(len(self.trace.ops) - 1, NONE, -1):
            if index in self._places:
                use = self._places[index][1]
            else:
                use = min((first[value] for value in self._made[index]), default=len(self.trace.ops))
            for value in self._given[index]:
                first[value] = min(first[value], use)
        return first

    def _in_program_order(self, call: ModuleCall) -> bool:
        """Whether all that runs before `call` while tracing is issued before it, and nothing else is."""
        start = min(self._places[op][1] for op in range(call.begin, call.end) if op in self._places)
        before = [self._places[op][1] for op in range(call.begin) if op in self._places]
        return len(before) == start and max(before, default=NONE) < start

    def _printable(self, call: ModuleCall) -> bool:
        """Its arguments can be printed, and its result bound."""
        opaque = frozenset(parameter.name for parameter in self.trace.parameters)
        if not all(printable(a, opaque) for a in (*call.args, *(argument for _, argument in call.kwargs))):
            return False
        return target(call.result, lambda value: "x" if self._escapes(value, call) else None) is not None

    def _escapes(self, value: int, call: ModuleCall) -> bool:
        """Whether `value` is made inside and used outside."""
        if not call.begin <= self.trace.values[value].producer < call.end:
            return False
        return call.end <= self._last_use[value] or self._state.escapes(value, call)

    def _closed(self, call: ModuleCall) -> bool:
        """What goes in is an argument or the module's own; what is seen outside is the result or an argument.

        Then nothing else that is allocated inside has a foreign use: all that is inside is on one stream.
        """
        given = {self._objects[value] for value in call_refs(call)}
        seen = given | {self._objects[value] for value in refs(call.result)}
        for index in range(call.begin, call.end):
            for value in self._given[index]:
                outside = NONE < self.trace.values[self._objects[value]].producer < call.begin
                if outside and self._objects[value] not in given:
                    return False
            for value in self._made[index]:
                if self._escapes(value, call) and self._objects[value] not in seen:
                    return False
        return True

    def _returns_pending(self, call: ModuleCall) -> bool:
        """Whether the user's Python returns the result of a collective, which in an eager run waits only where it is
        first used: on any stream, and not where the plan waits for it.
        """
        waited = {s for op in self.trace.ops[call.begin : call.end] if op.target == WAIT for s in op.writes}
        made = (value for op in range(call.begin, call.end) for value in self._made[op])
        return any(
            self._escapes(value, call) and not waited.isdisjoint(self.trace.values[value].storages) for value in made
        )
