"""The table of devices, and CANN's own files."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamsched.dsl.devices import table
from streamsched.dsl.devices.device import Device
from streamsched.dsl.devices.ini import NoDeviceError, parse, read

B3 = """\
# [Platform Info configuration begin]
[version]
SoC_version=Ascend910B3
[SoCInfo]
ai_core_cnt=20
cube_core_cnt=20
vector_core_cnt=40
memory_type=
normal_stream_num=2048
[AICoreSpec]
cube_freq=1800
[AICoreMemoryRates]
ddr_rate=32
[AICoreintrinsicDtypeMap]
0=Intrinsic_vrec|float16,float32
0=Intrinsic_vadd|float16,100%
"""


@pytest.mark.parametrize(
    ("name", "aic", "aiv"),
    [
        ("ascend910b1", 24, 48),
        ("Ascend910B2", 24, 48),
        ("ascend910b3", 20, 40),
        ("ascend910b4", 20, 40),
        ("ascend910_93", 24, 48),
        ("ascend910_9362", 20, 40),
        ("ascend950", 32, 64),
        ("ascend950dt", 32, 64),
    ],
)
def test_devices_by_name(name: str, aic: int, aiv: int) -> None:
    device = table.find(name)
    assert device is not None and (device.aic, device.aiv, device.streams) == (aic, aiv, 2048)
    assert device.rated


def test_every_device_names_its_source() -> None:
    text = Path(table.__file__).with_name("devices.ini").read_text()
    assert text.count("\nsource = cann") == text.count("\n[")


def test_an_unknown_name_is_no_device() -> None:
    assert table.find("ascend910b5") is None


def test_a_file_of_cann_states_what_the_table_says(tmp_path: Path) -> None:
    path = tmp_path / "Ascend910B3.ini"
    path.write_text(B3)
    assert read(str(path)) == table.find("ascend910b3") == Device("Ascend910B3", 20, 40, 1800, 1152)


def test_rates_are_those_that_are_published() -> None:
    device = Device("Ascend910B2", 24, 48, 1800, 1382)
    assert device.cube_rate * 1e-6 == pytest.approx(353.9, abs=0.1)  # TFLOPS of half-precision products


def test_what_a_file_leaves_out_is_unknown() -> None:
    assert parse("[SoCInfo]\ncube_core_cnt=8\n") == Device("the device", 8, 0)
    assert not parse("[SoCInfo]\nai_core_cnt=8\n").rated


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "`cube_core_cnt` of the section `SoCInfo` is missing"),
        ("aic = 3", "it is no `.ini` file as CANN has them"),
        ("[SoCInfo]\ncube_core_cnt=many\n", "`cube_core_cnt` is no number: `many`"),
        ("[SoCInfo]\ncube_core_cnt=-4\n", "`cube_core_cnt` is no number: `-4`"),
        ("[SoCInfo]\ncube_core_cnt=99999999999999\n", "`cube_core_cnt` is no number: `99999999999999`"),
    ],
)
def test_a_file_without_a_device(text: str, why: str) -> None:
    with pytest.raises(NoDeviceError) as raised:
        parse(text)
    assert str(raised.value) == why


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.ini"):
        with pytest.raises(NoDeviceError):
            read(str(path))
    (tmp_path / "binary.ini").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(NoDeviceError, match="it is no text"):
        read(str(tmp_path / "binary.ini"))
