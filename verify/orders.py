"""Orders in which a device may run its tasks."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from streamsched.dsl.program.steps import DEFAULT
from streamsched.verify.tasks import Task, TaskKind

Priority = Callable[[int, Task], float]
"""Of the tasks that may start, the one with the least priority is next; ties go to the earlier issued."""


@dataclass(frozen=True, slots=True)
class StreamOrder:
    """A way to choose among the tasks that may start, with the name that reports call it by."""

    name: str
    priority: Priority


def side_first() -> StreamOrder:
    """Side streams run as early as their waits allow."""
    return StreamOrder("side streams first", lambda _, task: task.stream == DEFAULT)


def side_last() -> StreamOrder:
    """Side streams run only when `default` can go no further."""
    return StreamOrder("side streams last", lambda _, task: task.stream != DEFAULT)


def seeded(seed: int) -> StreamOrder:
    """A random order."""
    generator = random.Random(seed)
    return StreamOrder(f"random order {seed}", lambda _, __: generator.random())


def orders(count: int, seed: int) -> list[StreamOrder]:
    """The two extremes, and `count` random orders."""
    return [side_first(), side_last(), *(seeded(seed + number) for number in range(count))]


def execution(tasks: Sequence[Task], order: StreamOrder) -> Iterator[int]:
    """The tasks in an order that is legal, and chosen by `order`. A block gets its new owner as early as it may."""

    def rank(index: int) -> tuple[float, int]:
        task = tasks[index]
        return (-1.0 if task.kind is TaskKind.OVERWRITE else order.priority(index, task), index)

    waiting = [len(task.after) for task in tasks]
    followers: list[list[int]] = [[] for _ in tasks]
    for index, task in enumerate(tasks):
        for before in task.after:
            followers[before].append(index)
    ready = [rank(index) for index, task in enumerate(tasks) if not task.after]
    heapq.heapify(ready)
    while ready:
        _, index = heapq.heappop(ready)
        yield index
        for follower in followers[index]:
            waiting[follower] -= 1
            if not waiting[follower]:
                heapq.heappush(ready, rank(follower))
