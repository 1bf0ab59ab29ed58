"""What a schedule says of its device, its graphs and what holds cores, in the program."""

from __future__ import annotations

from pathlib import Path

import pytest
from plans import HEAD, plan_text, program_of
from traces import TraceBuilder

from streamsched.dsl.devices.device import Device
from streamsched.dsl.plan.planner import plan
from streamsched.dsl.syntax.digest import digest
from streamsched.dsl.syntax.parser import parse
from streamsched.dsl.trace.model import Trace


@pytest.fixture
def trace() -> Trace:
    t = TraceBuilder()
    t.input("x")
    t.kernel("a", "x")
    t.view("v", "a")
    t.kernel("b", "a")
    return t.build("b")


def test_a_device_by_name(trace: Trace) -> None:
    assert program_of("", trace).device is None
    device = program_of("device ascend910b3", trace).device
    assert device is not None and (device.name, device.aic, device.aiv) == ("Ascend910B3", 20, 40)


def test_a_device_by_its_numbers(trace: Trace) -> None:
    assert program_of("device mine { aiv 40, aic 20 }", trace).device == Device("mine", 20, 40)
    text = "device mine { aic 20, aiv 40, mhz 1500, bandwidth 800, streams 100 }"
    assert program_of(text, trace).device == Device("mine", 20, 40, 1500, 800, 100)


def test_a_device_by_cann_s_file_beside_the_schedule(trace: Trace, tmp_path: Path) -> None:
    (tmp_path / "mine.ini").write_text("[SoCInfo]\ncube_core_cnt=7\nvector_core_cnt=14\n")
    parsed = parse(f'{HEAD}device "mine.ini"', "test.sched")
    planned = plan(parsed.schedule, trace, str(tmp_path))
    assert planned.program is not None and planned.program.device == Device("the device", 7, 14)


def test_a_file_that_states_no_device(trace: Trace) -> None:
    planned = plan_text('device "nowhere/mine.ini"', trace)
    assert planned.program is None
    [found] = planned.diagnostics
    assert (found.code, found.span.line) == ("SEL114", 3)
    assert found.message == "no device can be read from `nowhere/mine.ini`: no such file or directory"


def test_graphs(trace: Trace) -> None:
    assert program_of("", trace).graphs == 1
    assert program_of("graphs 12", trace).graphs == 12


def test_what_holds_cores(trace: Trace) -> None:
    program = program_of('group first = value "a"\nbatch first cores aiv 16\ncollective value "b"', trace)
    held = [(program.groups[h.group].name, h.collective, h.aic, h.aiv) for h in program.holdings]
    assert held == [("first", False, None, 16), ('value "b"', True, None, None)]


def test_a_holder_without_a_kernel_is_a_finding(trace: Trace) -> None:
    [found] = plan_text('batch value "v"', trace).diagnostics
    assert (found.code, found.message) == ("SEL104", '`value "v"` launches no kernel: `batch` has no effect')


def test_the_digest_of_older_schedules_is_unchanged() -> None:
    text = f"{HEAD}device ascend910b3\nstream side {{ priority -1; cores aic 8, aiv 16 }}\nworld 2\n"
    known = "fa312d95e4d153a136513388f96a3113971ddc27e6063408c9c453e8d4888f2b"
    assert digest(parse(text, "f").schedule) == known
