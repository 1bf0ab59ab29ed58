"""A program with what the rules need to know of it, each computed once and when first asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from streamsched.dsl.check.accesses import Race, missing_waits
from streamsched.dsl.check.bounds import Bounds, bounds_of
from streamsched.dsl.check.communication import clocks_by_issuer, unordered
from streamsched.dsl.check.groups import Extent, extents, new_groups
from streamsched.dsl.check.holders import Holder, holders
from streamsched.dsl.check.lifetimes import Reuse, reuses
from streamsched.dsl.check.overloads import Overload, overloads
from streamsched.dsl.program.clocks import Clocks, clocks
from streamsched.dsl.program.steps import Program, StepKind
from streamsched.dsl.trace.costs import Cost, cost_of
from streamsched.dsl.trace.model import NONE


@dataclass(frozen=True)
class Facts:
    """What the rules read: a program and what follows from it."""

    program: Program

    def of(self, *kinds: StepKind) -> list[int]:
        """The steps of some kinds, in issue order."""
        found = [index for kind in kinds for index in self._by_kind.get(kind, ())]
        return found if len(kinds) == 1 else sorted(found)

    @cached_property
    def _by_kind(self) -> dict[StepKind, list[int]]:
        found: dict[StepKind, list[int]] = {}
        for index, step in enumerate(self.program.steps):
            found.setdefault(step.kind, []).append(index)
        return found

    @cached_property
    def by_stream(self) -> tuple[tuple[int, ...], ...]:
        """The running steps of each stream, in issue order."""
        found: list[list[int]] = [[] for _ in self.program.streams]
        for index in self.of(StepKind.ENTRY, StepKind.LAUNCH, StepKind.ALLOC, StepKind.EXIT):
            found[self.program.steps[index].stream].append(index)
        return tuple(map(tuple, found))

    @cached_property
    def clocks(self) -> Clocks:
        """Happens-before."""
        return clocks(self.program)

    @cached_property
    def bounds(self) -> tuple[Bounds, ...]:
        """The bounds of each required order."""
        return tuple(bounds_of(self.program, order) for order in self.program.required)

    @cached_property
    def missing(self) -> tuple[tuple[Race, ...], ...]:
        """The missing waits, each as the dependencies that ask for it."""
        return tuple(missing_waits(self.program))

    @cached_property
    def collectives(self) -> tuple[int, ...]:
        """The steps that communicate: the collectives of a process group, and what is known or said to do so."""
        return tuple(holder.step for holder in self.holders if holder.collective)

    @cached_property
    def unordered_collectives(self) -> tuple[tuple[int, int], ...]:
        """The pairs of consecutive collectives that nothing orders."""
        return tuple(unordered(self.issuer_clocks, self.collectives)) if len(self.collectives) > 1 else ()

    @cached_property
    def issuer_clocks(self) -> Clocks:
        """Happens-before, the queues of process groups left aside but for what is issued from one stream."""
        grouped = any(stream.of_group for stream in self.program.streams)
        return clocks_by_issuer(self.program) if grouped else self.clocks

    @cached_property
    def holders(self) -> tuple[Holder, ...]:
        """What holds cores while it waits for others."""
        return holders(self.program)

    @cached_property
    def overloads(self) -> tuple[Overload, ...]:
        """The sets of ops that may run at once and hold more cores than there are."""
        return tuple(overloads(self.program, self.holders, lambda: self.issuer_clocks))

    def cost(self, step: int) -> Cost | None:
        """What a step costs by its shapes; None where that is not known."""
        if step not in self._costs:
            trace, op = self.program.trace, self.program.steps[step].op
            self._costs[step] = None if trace is None or op == NONE else cost_of(trace.ops[op], trace)
        return self._costs[step]

    @cached_property
    def _costs(self) -> dict[int, Cost | None]:
        return {}

    @cached_property
    def reuses(self) -> tuple[Reuse, ...]:
        """What becomes of each freed block that several streams have used, over two calls."""
        return tuple(reuses(self.program))

    @cached_property
    def extents(self) -> dict[int, Extent]:
        """Where the running steps of each group lie."""
        return extents(self.program)

    @cached_property
    def new_groups(self) -> dict[int, str]:
        """By step: what a new group for it alone is to be called, for the steps that miss an order."""
        ends = [index for races in self.missing for index in (races[0].before, races[0].after)]
        ends += [index for pair in self.unordered_collectives for index in pair]
        ends += [index for overload in self.overloads for index in overload.ends]
        return new_groups(self.program, dict.fromkeys(ends))
