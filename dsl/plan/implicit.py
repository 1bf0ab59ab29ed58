"""The sync that collectives do by themselves, as steps: the fork to their group's stream, and the join where they are
waited for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from streamsched.dsl.program import via
from streamsched.dsl.program.steps import Step, StepKind


@dataclass(frozen=True)
class Implicit:
    """The implicit steps around the ranks of a program; its events are numbered from `events` on.

    `awaited` are, by rank, the ranks of the collectives that it waits for; `names` the names of the ranks' ops.
    """

    streams: Sequence[int]
    issuers: Sequence[int]
    awaited: dict[int, tuple[int, ...]]
    names: dict[int, str]
    events: int

    @cached_property
    def _numbers(self) -> dict[tuple[int, str], int]:
        """The number of each event, by the rank of the collective and which side of it is recorded."""
        ended = {collective for found in self.awaited.values() for collective in found}
        forked = [rank for rank, stream in enumerate(self.streams) if stream != self.issuers[rank]]
        keys = [(rank, side) for rank in forked for side in ("begin", "end") if side == "begin" or rank in ended]
        return {key: number for number, key in enumerate(keys, start=self.events)}

    def event_names(self) -> tuple[str, ...]:
        """The names of the events, in the order of their numbers."""
        return tuple(self._name(*key) for key in self._numbers)

    def before(self, rank: int) -> list[Step]:
        """What is issued right before a rank."""
        steps: list[Step] = []
        if (rank, "begin") in self._numbers:
            steps.append(self._record(rank, "begin", self.issuers[rank]))
            steps.append(self._wait(rank, "begin", self.streams[rank]))
        steps += [self._wait(collective, "end", self.issuers[rank]) for collective in self.awaited.get(rank, ())]
        return steps

    def behind(self, rank: int) -> list[Step]:
        """What is issued right behind a rank."""
        return [self._record(rank, "end", self.streams[rank])] if (rank, "end") in self._numbers else []

    def _record(self, rank: int, side: str, stream: int) -> Step:
        return self._sync(StepKind.RECORD, rank, side, stream)

    def _wait(self, rank: int, side: str, stream: int) -> Step:
        return self._sync(StepKind.WAIT, rank, side, stream)

    def _sync(self, kind: StepKind, rank: int, side: str, stream: int) -> Step:
        return Step(kind, stream, self._name(rank, side), event=self._numbers[rank, side], via=via.COLLECTIVE)

    def _name(self, rank: int, side: str) -> str:
        return f"{self.names[rank]}_{side}"
