"""The devices that are known by name."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from streamsched.dsl.devices.device import Device
from streamsched.dsl.devices.ini import bandwidth

_TABLE = Path(__file__).with_name("devices.ini")


def find(name: str) -> Device | None:
    """The device of that name, in any case; None if there is none."""
    return _devices().get(name.lower())


def names() -> tuple[str, ...]:
    """The names of the devices, as one writes them: in lower case."""
    return tuple(_devices())


@cache
def _devices() -> dict[str, Device]:
    from configparser import ConfigParser  # needed only where a device is named

    parser = ConfigParser(interpolation=None)
    parser.read(_TABLE, encoding="utf-8")
    found: dict[str, Device] = {}
    for section in parser.sections():
        row = parser[section]
        aic, aiv, mhz, rate = (row.getint(key, 0) for key in ("aic", "aiv", "mhz", "rate"))
        device = Device(section, aic, aiv, mhz, bandwidth(rate, aic, mhz), row.getint("streams", 0))
        for name in (section, *row.get("short", "").split()):
            found[name.lower()] = device
    return found
