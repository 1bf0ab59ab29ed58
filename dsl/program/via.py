"""The vocabulary of `Step.via`: how hand-written code spelled the call that issued a step.

A text is one or more of these words, joined by `join`. What it means depends on the step that carries it, and each
word says on which steps it stands. A builder may use other words as well, for people; the checks pass over them.
"""

from __future__ import annotations

from typing import Final

from streamsched.dsl.program.steps import Program, Step

WAIT_STREAM: Final = "wait_stream"
"""`s.wait_stream(t)`: on the RECORD and the WAIT that it issues."""
NEW_EVENT: Final = "record_event()"
"""`e = s.record_event()`, which makes the event: on the RECORD."""
STREAM_RECORD_EVENT: Final = "stream.record_event"
"""`s.record_event(e)`: on the RECORD."""
STREAM_SYNCHRONIZE: Final = "stream.synchronize"
"""`s.synchronize()`: on the HOST_SYNC."""
EVENT_SYNCHRONIZE: Final = "event.synchronize"
"""`e.synchronize()`: on the HOST_SYNC."""
DEVICE_SYNCHRONIZE: Final = "synchronize"
"""`torch.npu.synchronize()`: on the HOST_SYNC."""
QUERY: Final = "query"
"""`e.query()`, somewhere behind: on the RECORD of the event. It is no host sync, as the host need not wait."""
ENABLE_TIMING: Final = "enable_timing"
"""The event was made with `enable_timing=True`: on its RECORD."""
GENERIC_EVENT: Final = "torch.Event"
"""The event is a `torch.Event`, not the device's own: on its RECORD and WAIT."""
EXTERNAL_EVENT: Final = "ExternalEvent()"
"""The event was made in forward() as `torch.npu.ExternalEvent()`: on its RECORD and WAIT."""
GENERIC_STREAM: Final = "torch.Stream"
"""The stream is a `torch.Stream`, not the device's own: on LAUNCH, ALLOC, RECORD and WAIT."""
SET_STREAM: Final = "set_stream"
"""On EXIT: a stream that forward() made current with `set_stream` still is."""
DEFAULT_STREAM: Final = "default_stream()"
"""The stream was asked for in forward() as `torch.npu.default_stream()`: on LAUNCH, ALLOC, RECORD and WAIT."""
NO_STREAM: Final = "stream(None)"
"""Inside `with torch.npu.stream(None)`: on LAUNCH and ALLOC."""
SET_STREAM_LIMIT: Final = "set_stream_limit"
"""The stream's cores were limited in forward() with `torch.npu.set_stream_limit`: on LAUNCH."""
LIMIT_AROUND_BLOCK: Final = "limit_core_num around block"
"""A `limit_core_num` without `stream=` stands around the block of the stream: on LAUNCH."""
GRAPH_BREAK: Final = "graph_break"
"""torch.compile ends one graph and begins another: on the CAPTURE_END and the CAPTURE_BEGIN."""
RECORDED_OUTSIDE: Final = "recorded outside"
"""The event was last recorded by the caller, before forward() began: on its WAIT."""
AS_FUNCTION: Final = "function"
"""The op was called as an operator (`torch.ops.aten.add_(x, y)`), not as a method of the tensor: on LAUNCH."""
LAST_USE: Final = "last use"
"""On FREE: a compiled graph drops the memory here, behind its last use, though a variable still holds it."""
COLLECTIVE: Final = "collective"
"""On RECORD and WAIT: a collective, or the wait for one, issues it by itself."""
QUEUED: Final = "queued"
"""On the LAUNCH of a collective: it runs in its group's queue, in the order of issue, on whatever stream that is."""

_JOINT: Final = ", "
_INSIDE: Final = "in module "
_BLOCK: Final = "with "
_VIEW: Final = "returns a view of "


def join(*words: str) -> str:
    """The `via` that says all of `words`."""
    assert all(words) and not any(_JOINT in word for word in words), words
    return _JOINT.join(words)


def within(stream: str) -> str:
    """The word for: it was issued inside `with torch.npu.stream(...)` of the stream of that name."""
    return _BLOCK + stream.replace(_JOINT, ",")


def view_of(value: str) -> str:
    """The word for: forward() returns a view of the input of that name. On EXIT."""
    return _VIEW + value.replace(_JOINT, ",")


def viewed(step: Step) -> list[str]:
    """The inputs of which an EXIT returns views, in the order of the text."""
    return sorted(word.removeprefix(_VIEW) for word in words(step) if word.startswith(_VIEW))


def inside(path: str) -> str:
    """The word for: it was issued by the forward() of the module at that path, or by what that calls."""
    return _INSIDE + path


def module(step: Step) -> str:
    """The path of the module that the step's `inside` names; empty where there is none."""
    return next((word.removeprefix(_INSIDE) for word in words(step) if word.startswith(_INSIDE)), "")


def words(step: Step) -> frozenset[str]:
    """What the step's `via` says."""
    return frozenset(step.via.split(_JOINT)) if step.via else frozenset()


def is_implicit(step: Step) -> bool:
    """Whether a record or a wait is part of another call, so that no code is written for it."""
    return step.via == COLLECTIVE


def explicit_events(program: Program) -> tuple[str, ...]:
    """The events that code must make; they come before those of the collectives."""
    implicit = {step.event for step in program.steps if is_implicit(step)}
    assert implicit == set(range(len(program.events) - len(implicit), len(program.events))), implicit
    return program.events[: len(program.events) - len(implicit)]


def block(step: Step) -> str:
    """The name of the stream in whose `with` block the step was issued; empty where there is none."""
    return next((word.removeprefix(_BLOCK) for word in words(step) if word.startswith(_BLOCK)), "")
