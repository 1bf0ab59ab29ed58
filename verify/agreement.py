"""What can be said against a verification before anything is traced, and without torch."""

from __future__ import annotations

import os
from collections.abc import Sequence

from streamsched.dsl.files import STDIN
from streamsched.dsl.pipeline import load_parsed, trace_request
from streamsched.dsl.trace.request import TraceRequest
from streamsched.verify.ranges import unknown_input
from streamsched.verify.request import Request
from streamsched.verify.verdict import CannotRunError


def check_request(request: Request) -> None:
    """Raise `CannotRunError` for schedules that do not belong together, and for ranges of inputs that there are not.

    A schedule with errors is left to those who report them, and one from standard input, which can be read once, to
    `same_model`. Raises `ReadError`.
    """
    paths = [path for path in (request.schedule, *request.others) if path != STDIN]
    parsed = [load_parsed(path, instead=request.instead) for path in paths]
    if any(each.failed for each in parsed):
        return
    asked = [trace_request(each.schedule, each.file.base) for each in parsed]
    same_model(paths, asked)
    for each in asked:
        known = [tensor.name for tensor in each.inputs]
        for given in request.ranges if known else ():
            if given.name not in known:
                raise CannotRunError(unknown_input(given.name, known))


def same_model(paths: Sequence[str], requests: Sequence[TraceRequest]) -> None:
    """Raise `CannotRunError` if schedules do not call the same model with the same inputs."""
    for path, request in zip(paths[1:], requests[1:], strict=True):
        for what in ("model", "input"):
            if _called(requests[0], what) != _called(request, what):
                raise CannotRunError(
                    f"cannot run: {paths[0]} and {path} have different `{what}` statements; "
                    f"schedules that are verified together apply to one model, called in one way"
                )


def _called(request: TraceRequest, what: str) -> object:
    """What a request says of its model or of its inputs, wherever its schedule lies."""
    if what == "model":
        return os.path.realpath(os.path.join(request.base, request.file)), request.attribute
    return request.inputs, request.inputs_from
