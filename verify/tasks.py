"""A program as what its device does: tasks, and what each must wait for.

The host issues steps in order; the device is free to run them in any order that stream order and waits allow. A freed
block is overwritten as early as the allocator may hand it out again: with the next task on its home stream. After a
`record_stream` that task gets it only where the work is complete that was issued on the recorded streams by the time of
the free: a later task may get it instead, but no earlier one, so that what this task waits for is over.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from streamsched.dsl.program.steps import Program, StepKind


class TaskKind(enum.Enum):
    """What a task does."""

    RUN = "run"  # a running step of the program
    OVERWRITE = "overwrite"  # a freed block gets a new owner


@dataclass(frozen=True, slots=True)
class Task:
    """One task of call number `call`. `step` is the program's step: the one to run, or the free.

    It may start when all tasks of `after` are complete. `overwrites` are the frees whose blocks go to this very task.
    """

    kind: TaskKind
    call: int
    step: int
    stream: int
    after: tuple[int, ...]
    overwrites: tuple[tuple[int, int], ...] = ()  # (call, step of the free)


@dataclass(frozen=True, slots=True)
class _Freed:
    """A freed block: the step of the free, and, after a `record_stream`, the tasks that must be complete; else None."""

    call: int
    step: int
    after: tuple[int, ...] | None


@dataclass
class _Builder:
    """The tasks of several calls in a row, as they are issued."""

    program: Program
    tasks: list[Task]
    last: dict[int, int]  # by stream: its latest task
    pending: dict[int, list[int]]  # by stream: what its next task must follow besides, from waits
    freed: dict[int, list[_Freed]]  # by stream: blocks that its next task may get

    def call(self, number: int) -> None:
        """Issue one call of the program."""
        recorded: dict[int, int | None] = {}
        used: dict[int, list[int]] = {}
        for index, step in enumerate(self.program.steps):
            if step.runs:
                self._run(number, index, step.stream, step.issuer)
            elif step.kind is StepKind.RECORD:
                recorded[step.event] = self.last.get(step.stream)
                pending = self.pending.get(step.stream)
                if pending:
                    self._fence(number, index, step.stream)
                    recorded[step.event] = self.last[step.stream]
            elif step.kind is StepKind.WAIT:
                awaited = recorded.get(step.event)
                if awaited is not None:
                    self.pending.setdefault(step.stream, []).append(awaited)
            elif step.kind is StepKind.RECORD_STREAM:
                used.setdefault(step.storage, []).append(step.stream)
            elif step.kind is StepKind.FREE:
                self._free(number, index, step.stream, used.get(step.storage, ()))

    def _run(self, number: int, index: int, stream: int, issuer: int) -> None:
        after = self._after(stream)
        blocks = self.freed.pop(issuer, ())
        for block in blocks:
            if block.after is not None:
                ready = tuple(sorted({*after, *block.after}))
                frees = ((block.call, block.step),)
                self.tasks.append(Task(TaskKind.OVERWRITE, block.call, block.step, issuer, ready, frees))
        owned = tuple((block.call, block.step) for block in blocks if block.after is None)
        self._add(Task(TaskKind.RUN, number, index, stream, after, owned), stream)

    def _fence(self, number: int, index: int, stream: int) -> None:
        """A record behind a wait with no task between them: a task that does nothing stands for both."""
        self._add(Task(TaskKind.RUN, number, index, stream, self._after(stream)), stream)

    def _free(self, number: int, index: int, home: int, recorded: Sequence[int]) -> None:
        after: set[int] | None = None
        if recorded:
            after = {self.last[stream] for stream in (home, *recorded) if stream in self.last}
            after.update(task for stream in recorded for task in self.pending.get(stream, ()))
        self.freed.setdefault(home, []).append(_Freed(number, index, None if after is None else tuple(after)))

    def _after(self, stream: int) -> tuple[int, ...]:
        previous = [self.last[stream]] if stream in self.last else []
        return tuple(sorted({*previous, *self.pending.pop(stream, ())}))

    def _add(self, task: Task, stream: int) -> None:
        self.tasks.append(task)
        self.last[stream] = len(self.tasks) - 1


def tasks_of(program: Program, calls: int) -> tuple[Task, ...]:
    """The tasks of `calls` calls in a row, in the order in which the host issues them."""
    builder = _Builder(program, [], {}, {}, {})
    for number in range(calls):
        builder.call(number)
    return tuple(builder.tasks)
