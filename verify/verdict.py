"""What came out of a verification."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Difference:
    """An output that differs from the reference.

    `where` is the output (`output[1]`, `output["k"]`), `largest` the largest absolute difference (NaN where one side
    is NaN), `differing` of `total` elements differ.
    """

    order: str
    call: int
    where: str
    largest: float
    differing: int
    total: int

    def __str__(self) -> str:
        share = f"{self.differing} of {self.total} elements differ, by up to {self.largest:.3g}"
        return f"{self.where} of call {self.call + 1} under {self.order}: {share}"


@dataclass(frozen=True, slots=True)
class Failure:
    """A run that did not end: an operator raised, a capture failed, an order could not be finished."""

    order: str
    message: str

    def __str__(self) -> str:
        return f"{self.order}: {self.message}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """All that one engine found.

    `compared` says what was held against what, in words; `notes` what else is to be known (a launch log's part).
    """

    engine: str
    compared: str
    orders: tuple[str, ...]
    calls: int
    differences: tuple[Difference, ...] = ()
    failures: tuple[Failure, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether every output of every call agreed under every order."""
        return not self.differences and not self.failures
