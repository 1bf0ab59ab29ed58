"""The device of a schedule: named, given by its numbers, or stated by a file of CANN's."""

from __future__ import annotations

import os

from streamsched.dsl.devices.device import GRAPH_STREAMS, Device
from streamsched.dsl.devices.ini import NoDeviceError, read
from streamsched.dsl.diagnostic import Diagnostic, Severity, Span
from streamsched.dsl.rule import rule
from streamsched.dsl.syntax.tree import DeviceFileStatement, DeviceStatement, OwnDeviceStatement, Schedule


@rule("SEL114", "device-not-read", Severity.ERROR)
def device_not_read(span: Span, path: str, why: str) -> Diagnostic:
    """The file that is to state the device's numbers cannot be read, or states none.

    `device "PATH"` takes one of the files that CANN installs under `platform_config`, one for each device. The path is
    relative to the schedule.

    Without the numbers nothing could be said about what exceeds the device.

    Example:

        device "Ascend910B3.in"

    Use instead:

        device "/usr/local/Ascend/ascend-toolkit/latest/aarch64-linux/data/platform_config/Ascend910B3.ini"
    """
    return device_not_read.diagnostic(
        span,
        f"no device can be read from `{path}`: {why}",
        help="name the device, as in `device ascend910b3`, or give its numbers: `device mine { aic 20, aiv 40 }`",
    )


def device_of(schedule: Schedule, base: str) -> tuple[Device | None, tuple[Diagnostic, ...]]:
    """The device of `schedule`, whose paths are relative to `base`; None where it names none, or none that is known."""
    for statement in schedule.statements:
        match statement:
            case DeviceStatement(name):
                from streamsched.dsl.devices import table  # needed only where a device is named

                return table.find(name.text), ()
            case OwnDeviceStatement(name, numbers):
                given = dict(numbers)
                cores = given.get("aic", 0), given.get("aiv", 0)
                rates = given.get("mhz", 0), given.get("bandwidth", 0)
                return Device(name.text, *cores, *rates, given.get("streams", GRAPH_STREAMS)), ()
            case DeviceFileStatement(path):
                try:
                    return read(os.path.join(base, path)), ()
                except NoDeviceError as error:
                    return None, (device_not_read(statement.span, path, str(error)),)
            case _:
                pass
    return None, ()


RULES = (device_not_read,)
