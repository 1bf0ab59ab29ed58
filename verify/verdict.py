"""What came out of a verification."""

from __future__ import annotations

import traceback
from dataclasses import dataclass

from streamsched.verify.causes import in_words


class CannotRunError(Exception):
    """What keeps original and generated forward from being compared at all, and what to do about it.

    `details` are for who asks for more: Python's traceback, what the device's process printed.
    """

    def __init__(self, message: str, details: str = "") -> None:
        super().__init__(message)
        self.details = details


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
    """A run that did not end, where the original's did: an operator raised, a capture failed.

    `details` is Python's traceback.
    """

    order: str
    message: str
    details: str = ""

    @classmethod
    def of(cls, order: str, error: BaseException) -> Failure:
        """The failure that an exception was."""
        return cls(order, in_words(error), traceback_of(error))

    def __str__(self) -> str:
        return f"{self.order}: {self.message}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """All that one engine found.

    `compared` says what was held against what, in words; `evidence` is the relevant part of a launch log; `notes` say
    what else is to be known, of outputs that agree too.
    """

    engine: str
    compared: str
    orders: tuple[str, ...]
    calls: int
    differences: tuple[Difference, ...] = ()
    failures: tuple[Failure, ...] = ()
    evidence: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether every output of every call agreed under every order."""
        return not self.differences and not self.failures


def traceback_of(error: BaseException) -> str:
    """Python's own traceback of an exception."""
    return "".join(traceback.format_exception(error)).rstrip()
