"""What to type where a record, a wait or a record_stream is missing in hand-written code."""

from __future__ import annotations

from streamsched.dsl.check.describe import is_hand_written, name, stream
from streamsched.dsl.program.steps import Program

_HOST = "host"


def api(program: Program) -> str:
    """The module that makes streams and events for the program's target."""
    return "torch.cuda" if program.target == "cuda" else "torch.npu"


def sync_between(program: Program, before: int, after: int) -> str:
    """How to let the stream of step `after` wait for step `before`."""
    first, second = name(program, before), name(program, after)
    begun = program.steps[before]
    if is_hand_written(program) and begun.issuer != begun.stream:
        where = stream(program, program.steps[after].issuer)
        return (
            f"wait for {first} where {where} is current, before {second}: `work.wait()` with what `async_op=True` "
            "returns, or `wait_tensor` for a functional collective"
        )
    return sync(program, program.steps[before].issuer, first, program.steps[after].issuer, second)


def sync(program: Program, awaited: int, first: str, waiting: int, second: str) -> str:
    """How to let one stream wait for another, between two things given in words."""
    if is_host(program, waiting):
        return (
            f"record an event on {stream(program, awaited)} after {first}, and let the host wait for it before {second}"
            f": `done.record()` and `done.synchronize()`, with `done = {api(program)}.Event()`"
        )
    advice = (
        f"record an event on {stream(program, awaited)} after {first}, and let {stream(program, waiting)} wait for it "
        f"before {second}"
    )
    if not is_hand_written(program):
        return advice
    return (
        f"{advice}: `done.record()` and `done.wait()`, each where its stream is current, with "
        f"`done = {api(program)}.Event()`"
    )


def record_stream(program: Program, storage: int, user: int) -> str:
    """The `record_stream` for a stream that uses a storage."""
    called = program.storages[storage].name
    if not is_hand_written(program):
        return f"`{called}.record_stream(...)` for {stream(program, user)}"
    return f"`{called}.record_stream({api(program)}.current_stream())` where {stream(program, user)} is current"


def is_host(program: Program, number: int) -> bool:
    """Whether a stream of a recorded program is the host thread."""
    return number == len(program.streams) - 1 and program.streams[number].name == _HOST and number > 0
