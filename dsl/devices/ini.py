"""CANN's `platform_config/*.ini`, which state the numbers of one device each."""

from __future__ import annotations

from streamsched.dsl.devices.device import GRAPH_STREAMS, Device
from streamsched.dsl.files import file_bytes


class NoDeviceError(Exception):
    """A file that states no device. Its message says why, for people."""


def read(path: str) -> Device:
    """The device of the file at `path`. Raises NoDeviceError."""
    try:
        text = file_bytes(path).decode()
    except (OSError, ValueError) as error:  # ValueError: no UTF-8, or a path with a NUL
        why = error.strerror if isinstance(error, OSError) and error.strerror else "it is no text"
        raise NoDeviceError(why[:1].lower() + why[1:]) from error
    return parse(text)


def parse(text: str) -> Device:
    """The device of a file's text. Raises NoDeviceError."""
    from configparser import ConfigParser, Error

    parser = ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except Error as error:
        raise NoDeviceError("it is no `.ini` file as CANN has them") from error

    def number(section: str, key: str, instead: int = 0) -> int:
        value = parser.get(section, key, fallback="").strip()
        if value and not (value.isdecimal() and len(value) < 10):
            raise NoDeviceError(f"`{key}` is no number: `{value[:40]}`")
        return int(value) if value else instead

    cores = number("SoCInfo", "ai_core_cnt")
    aic = number("SoCInfo", "cube_core_cnt", cores)
    if not aic:
        raise NoDeviceError("`cube_core_cnt` of the section `SoCInfo` is missing")
    mhz = number("AICoreSpec", "cube_freq")
    return Device(
        parser.get("version", "SoC_version", fallback="").strip() or "the device",
        aic,
        number("SoCInfo", "vector_core_cnt"),
        mhz,
        bandwidth(number("AICoreMemoryRates", "ddr_rate"), aic, mhz),
        number("SoCInfo", "normal_stream_num") or GRAPH_STREAMS,
    )


def bandwidth(rate: int, aic: int, mhz: int) -> int:
    """The bandwidth of the memory in GB/s, given the bytes that a core has of it in a cycle."""
    return rate * aic * mhz // 1000
