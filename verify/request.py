"""What a verification is asked to do, and how it is handed to a process of its own."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass

from streamsched.verify.ranges import Range
from streamsched.verify.verdict import CannotRunError, Difference, Failure, Verdict

ENGINES = ("cpu", "npugraph_ex", "npu", "cuda")


@dataclass(frozen=True, slots=True)
class Request:
    """`schedule` is the path of the `.sched` file; `instead` are statements that stand in for its own.

    `options` are those of npugraph_ex, for the original and the generated forward alike.
    """

    schedule: str
    engine: str = "cpu"
    orders: int = 10
    calls: int = 3
    seed: int = 0
    instead: tuple[str, ...] = ()
    options: tuple[tuple[str, bool], ...] = ()
    ranges: tuple[Range, ...] = ()
    verbose: bool = False
    others: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        assert self.engine in ENGINES, self.engine


def request_to_json(request: Request) -> str:
    """The request as a line of JSON."""
    return json.dumps(dataclasses.asdict(request))


def request_from_json(text: str) -> Request:
    """The request that `request_to_json` wrote."""
    fields = json.loads(text)
    fields["instead"] = tuple(fields["instead"])
    fields["others"] = tuple(fields["others"])
    fields["options"] = tuple((name, value) for name, value in fields["options"])
    fields["ranges"] = tuple(Range(**entry) for entry in fields["ranges"])
    return Request(**fields)


def answer_to_json(answer: Verdict | CannotRunError) -> str:
    """A verdict, or why there is none, as a line of JSON."""
    if isinstance(answer, CannotRunError):
        return json.dumps({"cannot_run": str(answer), "details": answer.details})
    return json.dumps(dataclasses.asdict(answer))


def verdict_from_json(text: str) -> Verdict:
    """The verdict that `answer_to_json` wrote. Raises the `CannotRunError` that it wrote."""
    fields = json.loads(text)
    if "cannot_run" in fields:
        raise CannotRunError(fields["cannot_run"], fields["details"])
    fields["orders"] = tuple(fields["orders"])
    fields["evidence"] = tuple(fields["evidence"])
    fields["notes"] = tuple(fields["notes"])
    fields["differences"] = tuple(Difference(**entry) for entry in fields["differences"])
    fields["failures"] = tuple(Failure(**entry) for entry in fields["failures"])
    return Verdict(**fields)
