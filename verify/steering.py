"""How the order of streams is steered on a device: the simulated NPU takes orders, real devices take delays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from streamsched.npu_sim import control, orders

DELAY_SIZE = 4096
"""A delay is this large a product, several times over: milliseconds, where a kernel takes microseconds."""


class Steering(Protocol):
    """One way of running the streams, prepared before each call."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    def prepare(self) -> None:
        """Arrange it for the next call. Nothing may be pending."""
        ...


@dataclass(frozen=True, slots=True)
class SimulatedOrder:
    """An order of the simulated NPU. Blocks that nobody owns are overwritten with NaN before each call."""

    order: orders.Order

    @property
    def name(self) -> str:
        """The order in the words of every engine."""
        return self.order.words

    def prepare(self) -> None:
        """Set the order, and spoil the free blocks."""
        control.set_order(self.order)
        control.poison_free_blocks()


@dataclass(frozen=True, slots=True)
class Delay:
    """Work of some milliseconds on one side stream, ahead of the call. `streams` gives them once they exist."""

    stream: str
    streams: Callable[[], dict[str, Any]]
    device: str

    @property
    def name(self) -> str:
        """Which stream is late."""
        return f"delay on {self.stream}"

    def prepare(self) -> None:
        """Keep the stream busy."""
        module = getattr(torch, self.device)
        with module.stream(self.streams()[self.stream]):
            busy = torch.ones(DELAY_SIZE, DELAY_SIZE, device=self.device)
            for _ in range(8):
                busy = busy @ busy * 0.0


def simulated(count: int, seed: int) -> list[Steering]:
    """The extremes, and `count` random orders."""
    chosen = [orders.SIDE_FIRST, orders.SIDE_LAST, *(orders.random_order(seed + number) for number in range(count))]
    return [SimulatedOrder(order) for order in chosen]
