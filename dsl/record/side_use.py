"""Whether a run used streams: whether anything could run beside what was issued on `default`."""

from __future__ import annotations

from streamsched.dsl.program.steps import DEFAULT, StepKind
from streamsched.dsl.record.device import Device
from streamsched.dsl.record.log import Entry
from streamsched.dsl.trace.model import NONE

_WORK = (StepKind.LAUNCH, StepKind.ALLOC)


def used_side_streams(device: Device) -> bool:
    """Whether work was issued from a side stream, or while a collective ran on its group's stream."""
    return any(entry.kind in _WORK and _is_side(device, entry) for entry in device.log.entries) or _ran_beside(device)


def _is_side(device: Device, entry: Entry) -> bool:
    """Whether a side stream of the user's was current when it was issued."""
    issuer = entry.stream if entry.issued_on == NONE else entry.issued_on
    if issuer <= DEFAULT:  # the host is below it
        return False
    queue = device.queues[issuer]
    return not queue.of_group and not queue.of_capture


def _ran_beside(device: Device) -> bool:
    """Whether the user's code issued work behind a collective before anything had waited for that."""
    running: set[int] = set()  # streams of groups
    recorded: dict[int, int] = {}  # by event: the stream of the group that it was recorded on
    for entry in device.log.entries:
        grouped = entry.stream >= 0 and device.queues[entry.stream].of_group
        match entry.kind:
            case StepKind.RECORD if grouped:
                recorded[entry.event] = entry.stream
            case StepKind.WAIT if entry.event in recorded:
                running.discard(recorded[entry.event])
            case StepKind.HOST_SYNC if entry.stream == NONE:
                running.clear()
            case StepKind.LAUNCH if entry.source is not None:
                if running - {entry.stream}:
                    return True
                if grouped:
                    running.add(entry.stream)
    return False
