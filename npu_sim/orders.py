"""Stream orders: in which of the legal orders the simulated NPU runs what was issued to its streams."""

from __future__ import annotations

from dataclasses import dataclass

_KINDS = ("serial", "side_first", "side_last", "random", "before", "after")


@dataclass(frozen=True)
class Order:
    """An order, as `kind` or `kind:number`. Every order runs each stream front to back and honours every wait."""

    kind: str
    number: int | None = None

    def __post_init__(self) -> None:
        assert self.kind in _KINDS, f"no such order: {self.kind}"
        assert (self.number is None) == (self.kind in _KINDS[:3]), f"{self.kind}: takes a number, or takes none"
        assert self.number is None or 0 <= self.number < 10**9

    def __str__(self) -> str:
        return self.kind if self.number is None else f"{self.kind}:{self.number}"

    @property
    def words(self) -> str:
        """What reports call it: `side streams first`, `random order 7`."""
        name = {"side_first": "side streams first", "side_last": "side streams last"}.get(self.kind)
        return name or (f"{self.kind} order" if self.number is None else f"{self.kind} order {self.number}")


SERIAL = Order("serial")
"""As the host issued the tasks: the reference. It hides every missing sync."""

SIDE_FIRST = Order("side_first")
"""Side streams run as early as their waits allow."""

SIDE_LAST = Order("side_last")
"""Side streams run as late as possible: only when the default stream or the host waits for them."""


def random_order(seed: int) -> Order:
    """Streams run in random bursts."""
    return Order("random", seed)


def before(node: int) -> Order:
    """Runs the ancestors of a launch, and the launch, before anything else; the rest as issued.

    `node` is the launch's number in the launch log: within its graph when it was captured, else since the order was set
    or `control.restart_nodes` was called.
    """
    return Order("before", node)


def after(node: int) -> Order:
    """Runs a launch, and what follows on its stream, only when nothing else can run; the rest as issued."""
    return Order("after", node)


def parse(text: str) -> Order:
    """The order that `str(order)` writes. Raises ValueError for any other text."""
    kind, colon, digits = text.partition(":")
    if kind not in _KINDS or bool(colon) != (kind not in _KINDS[:3]) or (colon and not digits.isdecimal()):
        raise ValueError(
            f"no stream order: {text!r}; one of serial, side_first, side_last, random:SEED, before:NODE, after:NODE"
        )
    return Order(kind, int(digits) if colon else None)
