"""The scheduler's own test, in C++: it needs the compiler and neither torch nor the wheel."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from streamsched.npu_sim.build import SOURCES


@pytest.mark.skipif(shutil.which(os.environ.get("CXX", "g++")) is None, reason="no C++ compiler")
def test_orders_and_deadlock(tmp_path: Path) -> None:
    program = tmp_path / "scheduler_test"
    sources = [Path(__file__).with_name("scheduler_test.cpp"), SOURCES / "scheduler.cpp", SOURCES / "orders.cpp"]
    compiler = os.environ.get("CXX", "g++")
    command = [
        compiler,
        "-std=c++17",
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-I{SOURCES}",
        *map(str, sources),
        "-o",
        str(program),
    ]
    subprocess.run(command, check=True)
    done = subprocess.run([program], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "ok\n"
